//! Tests of reading and running on small made-up tables.

use super::numbers::numeric;
use super::*;
use crate::frame::{Field, Frame, Kind, Value};

/// Ten shops with a size, sales, a town and a kind.
fn shops() -> Frame {
    let fields = vec![
        Field::new("Shop ID", Kind::Integer),
        Field::new("Town", Kind::Text),
        Field::new("FloorArea", Kind::Integer),
        Field::new("weekly_sales", Kind::Number),
        Field::new("Staff", Kind::Integer),
        Field::new("opened", Kind::Text),
    ];
    let data = [
        (1, "Bonn", 10, Some(11.0), 2, "2019-01-05"),
        (2, "Bonn", 20, Some(19.0), 3, "2019-02-05"),
        (3, "Kiel", 30, Some(33.0), 2, "2019-02-09"),
        (4, "Kiel", 40, Some(38.0), 5, "2020-02-05"),
        (5, "Bonn", 50, None, 4, "2020-03-05"),
        (6, "Kiel", 60, Some(61.0), 6, "2020-03-06"),
        (7, "Bonn", 70, Some(69.0), 7, "2020-03-07"),
        (8, "Kiel", 80, Some(84.0), 6, "2020-05-05"),
        (9, "Bonn", 90, Some(90.0), 9, "2020-06-05"),
        (10, "Kiel", 100, Some(400.0), 9, "2020-06-08"),
    ];
    let rows = data
        .iter()
        .map(|(id, town, area, sales, staff, opened)| {
            vec![
                Value::Int(*id),
                Value::Text((*town).into()),
                Value::Int(*area),
                sales.map_or(Value::Null, Value::Float),
                Value::Int(*staff),
                Value::Text((*opened).into()),
            ]
        })
        .collect();
    Frame { name: "shops".into(), fields, rows }
}

/// The figures of a request, a line for each.
fn answer(text: &str) -> String {
    let procedure = read(text, &shops()).expect("is read");
    run(&procedure, shops()).expect("runs").text
}

/// The number of the only or named answer.
fn value(text: &str, name: &str) -> f64 {
    let procedure = read(text, &shops()).expect("is read");
    let report = run(&procedure, shops()).expect("runs");
    let found = report
        .values
        .iter()
        .find(|(n, _)| n == name)
        .unwrap_or_else(|| panic!("{name} in {:?}", report.values));
    numeric(&found.1).unwrap()
}

#[test]
fn mean_and_deviation_by_name() {
    let text = "Calculate the mean and standard deviation of the weekly sales.\nReport:\n\
        - mean sales: rounded to two decimal places\n- std sales: rounded to two decimal places";
    assert_eq!(answer(text), "mean sales: 89.44\nstd sales: 119.71");
    let population =
        text.replace("the weekly", "the weekly sales (use the population standard deviation) of weekly");
    assert!(answer(&population).contains("std sales: 112.87"), "{}", answer(&population));
}

#[test]
fn the_list_may_come_first() {
    let text = "Return:\n- median area (one decimal)\nWhat is the median floor area?";
    assert_eq!(answer(text), "median area: 55.0");
}

#[test]
fn a_new_column_is_made_and_correlated() {
    let text = "Create a new column called \"Effort\" as the sum of FloorArea and Staff. Then calculate the \
        Pearson correlation coefficient between Effort and FloorArea.\nReport:\n- r: rounded to three \
        decimal places";
    let procedure = read(text, &shops()).unwrap();
    assert!(
        matches!(&procedure.steps[0], Step::Derive { name, formula: Formula::Sum(parts) } if name == "Effort" && parts.len() == 2)
    );
    assert_eq!(answer(text), "r: 1.000");
}

#[test]
fn formulas_in_signs_and_words() {
    let formula = |text: &str| match &read(text, &shops()).unwrap().steps[0] {
        Step::Derive { formula, .. } => formula.clone(),
        other => panic!("{other:?}"),
    };
    let column = |name: &str| Box::new(Formula::Column(name.into()));
    let tail = "\nCalculate its mean.\nReport:\n- mean";
    let ratio = Formula::Operation('/', column("weekly_sales"), column("FloorArea"));
    assert_eq!(
        formula(&format!("Create a new feature 'density' by dividing weekly_sales by FloorArea.{tail}")),
        ratio
    );
    assert_eq!(formula(&format!("Create a new feature 'density' as weekly_sales / FloorArea.{tail}")), ratio);
    let less = Formula::Operation('-', column("weekly_sales"), column("FloorArea"));
    assert_eq!(
        formula(&format!("Create a new column 'x' by subtracting FloorArea from weekly_sales.{tail}")),
        less
    );
    assert_eq!(
        formula(&format!(
            "Add a new column 'x', the percentage change in weekly_sales from the previous day.{tail}"
        )),
        Formula::Change("weekly_sales".into(), true)
    );
    let twelve = Formula::Operation('*', column("Staff"), Box::new(Formula::Number(12.0)));
    assert_eq!(formula(&format!("Create a new column 'x' that is Staff multiplied by 12.{tail}")), twelve);
}

#[test]
fn outliers_by_both_methods() {
    let iqr = "How many outliers are in the weekly_sales column? Use the IQR method.\nReport:\n\
        - outlier count: an integer";
    assert_eq!(answer(iqr), "outlier count: 1");
    let z = "How many outliers are in the weekly_sales column by the Z-score method with a threshold of \
        3?\nReport:\n- outlier count";
    assert_eq!(answer(z), "outlier count: 0");
    let removed = "Identify and remove outliers in weekly_sales with the IQR method. Then calculate the new \
        mean.\nReport:\n- removed outliers\n- mean after: rounded to two decimal places";
    assert_eq!(answer(removed), "removed outliers: 1\nmean after: 50.62");
}

#[test]
fn groups_in_the_names_of_figures() {
    let text = "Calculate the mean weekly sales for each town. Two decimal places.\nReport:\n\
        - mean sales Bonn\n- mean sales Kiel";
    assert_eq!(answer(text), "mean sales Bonn: 47.25\nmean sales Kiel: 123.20");
    let best = "Which town has the highest average weekly sales?\nReport:\n- town\n- highest average: \
        rounded to one decimal place";
    assert_eq!(answer(best), "town: Kiel\nhighest average: 123.2");
}

#[test]
fn filters_by_value_and_by_number() {
    let town = "What is the mean floor area of the shops in the \"Kiel\" town?\nReport:\n- mean area";
    assert_eq!(answer(town), "mean area: 62");
    let number =
        "What is the median FloorArea of shops whose Staff is greater than 5?\nReport:\n- median area";
    assert_eq!(answer(number), "median area: 80");
    let share = "What percentage of the shops have Town equal to \"Bonn\"?\nReport:\n\
        - Bonn percentage: a number between 0 and 100, rounded to one decimal place";
    assert_eq!(answer(share), "Bonn percentage: 50.0");
}

#[test]
fn missing_cells() {
    let count = "How many missing values does weekly_sales have?\nReport:\n- missing count";
    assert_eq!(answer(count), "missing count: 1");
    let filled = "Fill the missing values in weekly_sales with 0, then calculate the mean.\nReport:\n- mean sales: \
        rounded to one decimal place";
    assert_eq!(answer(filled), "mean sales: 80.5");
}

#[test]
fn classes_with_ranges() {
    let text = "Categorize the FloorArea into 'small' (below 35), 'middle' (35 to 75) and 'large' (above 75). \
        How many shops are in each class?\nReport:\n- small count\n- middle count\n- large count";
    assert_eq!(answer(text), "small count: 3\nmiddle count: 4\nlarge count: 3");
}

#[test]
fn words_are_chosen_by_the_stated_rules() {
    let text = "Is there a correlation between FloorArea and Staff?\nCompute the Pearson coefficient. \
        Consider it strong if the absolute value of r is greater than or equal to 0.7 and weak \
        otherwise.\nReport:\n- strength: can be \"strong\" or \"weak\"";
    assert_eq!(answer(text), "strength: strong");
    let normal = "Use the Shapiro-Wilk test with alpha 0.05 to check whether weekly_sales is \
        normal.\nReport:\n- p value: rounded to four decimal places\n- is normal: yes or no";
    assert_eq!(answer(normal), "p value: 0.0001\nis normal: no");
}

#[test]
fn months_from_dates() {
    let text = "Extract the month from the opened column. In which month were the most shops \
        opened?\nReport:\n- month\n- count";
    assert_eq!(answer(text), "month: 2\ncount: 3");
}

#[test]
fn questions_without_a_list() {
    assert!(
        (value("What is the correlation between FloorArea and Staff?", "correlation of FloorArea and Staff")
            - 0.944_4)
            .abs()
            < 1e-3
    );
    assert_eq!(
        value("Identify outliers in the weekly_sales column by the IQR method", "outliers in weekly_sales"),
        1.0
    );
    let procedure = read("mean, median, std of weekly sales for each town", &shops()).unwrap();
    let report = run(&procedure, shops()).unwrap();
    assert_eq!(report.tables.len(), 1);
    assert_eq!((report.tables[0].rows.len(), report.tables[0].fields.len()), (2, 4));
    let p = value(
        "Is there a significant difference in weekly_sales between the towns (t-test)?",
        "p-value of weekly_sales by Town",
    );
    assert!(p > 0.2 && p < 0.5, "{p}");
}

#[test]
fn plain_lookups_are_left_to_a_query() {
    for text in [
        "How many shops are in Bonn?",
        "Show the total sales by town",
        "list all shops",
        "Which town has the most shops?",
        "",
        "average sales per town",
    ] {
        assert!(read(text, &shops()).is_none(), "{text}");
    }
}

#[test]
fn a_procedure_survives_json() {
    let text = "Create a new column called \"Effort\" as the sum of FloorArea and Staff and remove outliers \
        in Effort with the IQR method. Calculate the mean of Effort.\nReport:\n- mean";
    let procedure = read(text, &shops()).unwrap();
    let copy: Procedure = serde_json::from_str(&serde_json::to_string(&procedure).unwrap()).unwrap();
    assert_eq!(procedure, copy);
}

#[test]
fn a_missing_column_is_an_error_not_a_panic() {
    let part = Part {
        measure: Measure::Mean,
        columns: vec!["nothing".into()],
        conditions: Vec::new(),
        after: 0,
        decimals: None,
    };
    let asked = NamedFigure { name: "x".into(), parts: vec![part] };
    let procedure = Procedure { answers: vec![asked], ..Procedure::default() };
    assert!(run(&procedure, shops()).is_err());
    assert!(run(&procedure, Frame::default()).is_err());
}

#[test]
fn a_short_name_is_not_pieced_together_from_other_words() {
    let mut frame = shops();
    frame.fields[5].name = "Date".into();
    let lexicon = super::columns::Lexicon::new(&frame);
    let found = lexicon.mentions(&super::words::tokens("Classify the days by temperature"));
    assert!(found.iter().all(|m| m.column != "Date"), "{found:?}");
}
