//! Separators, headers, names, lines before the table.

use super::*;

#[test]
fn every_separator_is_found() {
    for delimiter in [",", ";", "\t", "|", "~", "^", ":"] {
        let text = format!("name{delimiter}age\nann{delimiter}31\nbob{delimiter}45\ncy{delimiter}7\n");
        let layout = sniff(&text).unwrap();
        assert_eq!(layout.delimiter, delimiter.as_bytes()[0], "{delimiter:?}");
        assert_eq!(layout.columns, ["name", "age"]);
        assert!(layout.has_header && !layout.ragged);
    }
    let spaces = csv("x    y   z\n1    2.5  3\n10   4    5\n");
    assert_eq!(
        (names_of(&spaces), kinds(&spaces)),
        (vec!["x", "y", "z"], vec![Kind::Integer, Kind::Number, Kind::Integer])
    );
}

#[test]
fn tables_as_programs_print_them() {
    let markdown = csv("| name | age |\n|------|----:|\n| ann  | 31  |\n| bob  | 45  |\n");
    assert_eq!(
        (names_of(&markdown), plain(&markdown)),
        (vec!["name", "age"], vec![vec!["ann".into(), "31".to_owned()], vec!["bob".into(), "45".into()]])
    );
    let terminal =
        csv(" id | name | amount \n----+------+--------\n  1 | ann  |   2.50\n  2 | bob  |   3.75\n");
    assert_eq!(kinds(&terminal), [Kind::Integer, Kind::Text, Kind::Number]);
    let columns = csv(
        "Name        City           Age\nJohn Smith  New York        31\nAnn Lee     Los Angeles     45\nBob \
            Ray     San Jose        27\n",
    );
    assert_eq!(plain(&columns)[0], ["John Smith", "New York", "31"]);
    let named_rows = csv("\"mpg\" \"cyl\"\n\"Mazda RX4\" 21 6\n\"Fiat 128\" 32.4 4\n\"Volvo\" 21.4 4\n");
    assert_eq!(
        (names_of(&named_rows), plain(&named_rows)[1][0].as_str()),
        (vec!["column_1", "mpg", "cyl"], "Fiat 128")
    );
    let groups = csv(",2019,,2020,\nregion,units,amount,units,amount\nnorth,1,2,3,4\nsouth,5,6,7,8\n");
    assert_eq!(groups.labels, ["region", "2019 units", "2019 amount", "2020 units", "2020 amount"]);
    assert_eq!(plain(&csv("code,n\n=\"00123\",1\n=\"00456\",2\n"))[0], ["00123", "1"]);
    for text in
        ["http://a.com/x\nhttp://b.com/z\nhttps://c.com\n", "at 10:15:20 x\nat 10:15:30 y\nat 11:00:00 z\n"]
    {
        assert_eq!(csv(text).frame.fields.len(), 1, "{text}");
    }
    assert_eq!(names_of(&csv("\u{feff}\u{feff}title\n\na,b\n1,2\n")), ["a", "b"]);
}

#[test]
fn a_comma_inside_numbers_is_no_separator() {
    let read = csv("a;b;c\n1,5;2,5;3,5\n2,25;1,0;7,1\n");
    assert!(read.layout.as_ref().unwrap().decimal_comma);
    assert_eq!(plain(&read), [["1.5", "2.5", "3.5"], ["2.25", "1", "7.1"]]);
    let thousands = csv("amount\n1,234\n5,678\n");
    assert_eq!(plain(&thousands), [["1234"], ["5678"]]);
}

#[test]
fn one_column_stays_one_column() {
    assert_eq!(plain(&csv("name\nJohn Smith\nAnn Lee\n")), [["John Smith"], ["Ann Lee"]]);
    assert_eq!(plain(&csv("time\n2021-01-01 10:00:00\n2021-01-01 11:30:00\n")).len(), 2);
    assert_eq!(csv("n\n1\n2\n3\n").frame.fields.len(), 1);
    assert_eq!(csv("quote\nTo be, or not\nThat is it\nWell, well, well\nfine\n").frame.fields.len(), 1);
    assert_eq!(csv("clock\n10:15\n11:30\n").frame.fields.len(), 1);
}

#[test]
fn line_ends_and_declared_separators() {
    for (end, expected) in [("\n", Terminator::Lf), ("\r\n", Terminator::CrLf), ("\r", Terminator::Cr)] {
        let text = ["a,b", "1,2", "3,4", ""].join(end);
        let layout = sniff(&text).unwrap();
        assert_eq!(layout.terminator, expected);
        assert_eq!(plain(&csv(&text)), [["1", "2"], ["3", "4"]]);
    }
    let declared = csv("sep=;\r\na;b\r\n1,5;x\r\n");
    assert_eq!(declared.layout.as_ref().unwrap().skip, 1);
    assert_eq!(plain(&declared), [["1.5", "x"]]);
}

#[test]
fn lines_before_the_table_are_skipped() {
    let read = csv("Sales report\nGenerated 2021-01-01\n\nregion,units,amount\nnorth,1,2.5\nsouth,3,4.5\n");
    assert_eq!(read.layout.as_ref().unwrap().skip, 3);
    assert_eq!(names_of(&read), ["region", "units", "amount"]);
    let padded = csv("Sales,,,\n,,,\nregion,units,amount,note\nnorth,1,2.5,x\nsouth,3,4.5,y\n");
    assert_eq!((padded.frame.rows.len(), padded.layout.as_ref().unwrap().skip), (2, 2));
    let comments = csv("# made by a tool\n# on a day, in a place, at a time\na,b\n1,2\n# half\n3,4\n");
    assert_eq!(plain(&comments), [["1", "2"], ["3", "4"]]);
    let sharp = csv("#id,name\n1,x\n2,y\n");
    assert_eq!(names_of(&sharp), ["id", "name"]);
}

#[test]
fn a_header_is_told_from_data() {
    for text in ["1,2\n3,4\n", "ann,2021-01-01\nbob,2021-01-02\n", "x,1,2.5\ny,2,3.5\nx,3,4.5\n", "5\n6\n7\n"]
    {
        let read = csv(text);
        assert!(!read.layout.as_ref().unwrap().has_header, "{text}");
        assert_eq!(read.frame.fields[0].name, "column_1");
        assert_eq!(read.frame.rows.len(), text.lines().count());
    }
    for text in [
        "a,b\n1,2\n",
        "city,2019,2020\nx,1,2\ny,3,4\n",
        "name,city\nann,paris\nbob,rome\n",
        "a,b\n",
        ",x\n0,5\n1,6\n",
    ] {
        assert!(sniff(text).unwrap().has_header, "{text}");
    }
    assert_eq!(csv("a,b\n").frame.rows.len(), 0);
    assert_eq!(csv("a,b\n").frame.fields.len(), 2);
}

#[test]
fn names_are_unique_and_faithful() {
    let labels = [
        "amount",
        "Amount",
        "amount_2",
        "",
        " ",
        "2019",
        "% change",
        "# of calls",
        "naïve Größe",
        "数量",
        "PassengerId",
        "kWh",
        "a\nb",
    ];
    assert_eq!(
        names::unique(&labels),
        [
            "amount",
            "amount_3",
            "amount_2",
            "column_4",
            "column_5",
            "c_2019",
            "percent_change",
            "number_of_calls",
            "naïve_größe",
            "数量",
            "passenger_id",
            "kwh",
            "a_b"
        ]
    );
    let long = names::clean(&"very long name ".repeat(50));
    assert!(long.chars().count() <= 70 && !long.is_empty());
    assert_eq!(names::unique(&["column_2", "", "!!"]), ["column_2", "column_2_2", "column_3"]);
}

#[test]
fn five_hundred_columns() {
    let header: Vec<String> = (0..500).map(|n| format!("c{n}")).collect();
    let row: Vec<String> = (0..500).map(|n| n.to_string()).collect();
    let read = csv(&format!("{}\n{}\n{}\n", header.join(","), row.join(","), row.join(",")));
    assert_eq!((read.frame.fields.len(), read.frame.rows.len()), (500, 2));
    assert_eq!(read.frame.cell(1, 499), &Value::Int(499));
    let same = vec!["x"; 500].join(",");
    let read = csv(&format!("{same}\n{}\n", row.join(",")));
    let mut names = names_of(&read);
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), 500);
}

#[test]
fn row_names_without_a_header_shift_the_names() {
    let read = csv("mpg,cyl\nmazda,21,6\nfiat,32.4,4\n");
    assert_eq!(names_of(&read), ["column_1", "mpg", "cyl"]);
    let trailing = csv("a,b,\n1,2,\n3,4,\n");
    assert_eq!(names_of(&trailing), ["a", "b"]);
    let only_data = csv("a,b\n1,2,\n3,4,\n");
    assert_eq!(names_of(&only_data), ["a", "b"]);
}

#[test]
fn total_lines_are_left_out_of_delimited_text() {
    let invoices = csv("No;Date;Customer;Net;Status\nR1;02.01.2025;Alpha;1.200,50 €;paid\n\
         R2;03.01.2025;Beta;300,00 €;open\nTotal;;;1.500,50 €;\n");
    assert_eq!(invoices.frame.rows.len(), 2, "{:?}", invoices.warnings);
    assert!(
        invoices.warnings.iter().any(|line| line.contains("1 total was left out: row 3 (Total)")),
        "{:?}",
        invoices.warnings
    );
    let budget = csv("Department,Type,Jan,Feb\nSales,Travel,10,\"1,000\"\nSales,Rent,(5),20\n\
         Sales total,,5,\"1,020\"\nHR,Rent,7,8\nHR total,,7,8\nGrand total,,12,\"1,028\"\n");
    assert_eq!(budget.frame.rows.len(), 3, "{:?}", budget.warnings);
    // The label would not fit the column of dates or numbers that it stands in.
    let days = csv("day,visits\n2024-01-01,10\n2024-01-02,20\n2024-01-03,30\nTotal,60\n");
    assert_eq!((kinds(&days), days.frame.rows.len()), (vec![Kind::Date, Kind::Integer], 3));
    let named = csv("station,fuel,litres\nTotal,diesel,10\nShell,diesel,20\nTotal,petrol,15\n");
    assert_eq!(named.frame.rows.len(), 3, "a name is no total unless the numbers add up");
    assert!(named.warnings.iter().any(|line| line.contains("named like a total")), "{:?}", named.warnings);
}

#[test]
fn columns_named_by_months_are_a_header() {
    for head in ["Jan 2026,Feb 2026", "2026-01,2026-02", "01/2026,02/2026", "2026-01-31,2026-02-28"] {
        let read = csv(&format!("dept,{head}\nSales,10,20\nHR,30,40\nIT,50,60\n"));
        assert_eq!(read.frame.rows.len(), 3, "{head}: {:?}", read.warnings);
    }
    let data = csv("2026-01-31,2026-02-28\n2026-03-31,2026-04-30\n2026-05-31,2026-06-30\n");
    assert_eq!(data.frame.rows.len(), 3, "dates above dates are data");
}
