//! Quotes, ragged rows and other files that break readers.

use super::*;

#[test]
fn quotes_line_ends_and_commas_inside_values() {
    let read =
        csv("first,last,address\nJohn,Doe,\"120 any st., Anytown, WW\"\nJane,\"Roe \"\"JR\"\"\",\"a\nb\"\n");
    assert_eq!(plain(&read), [["John", "Doe", "120 any st., Anytown, WW"], ["Jane", "Roe \"JR\"", "a\nb"]]);
    assert!(read.layout.as_ref().unwrap().newlines_in_values);
    assert_eq!(
        plain(&csv("a,b\n1,\"ha \n\"\"ha\"\" \nha\"\n3,4\n")),
        [["1", "ha \n\"ha\" \nha"], ["3", "4"]]
    );
    assert_eq!(plain(&csv("a,b,c\n1,\"\",\"\"\n2,3,4\n")), [["1", "", ""], ["2", "3", "4"]]);
    assert_eq!(
        plain(&csv("key,val\n1,\"{\"\"type\"\": \"\"Point\"\", \"\"c\"\": [1.0, 2]}\"\n"))[0][1],
        "{\"type\": \"Point\", \"c\": [1.0, 2]}"
    );
    assert_eq!(plain(&csv("a,b,c\n1,2,3\n4,5,ʤ\n"))[1][2], "ʤ");
    assert_eq!(plain(&csv("'a','b'\n'x, y','it''s'\n'z','w'\n")), [["x, y", "it's"], ["z", "w"]]);
    assert_eq!(plain(&csv("a,b\n\"say \\\"hi\\\" now\",2\n\"x\",3\n"))[0][0], "say \"hi\" now");
    assert_eq!(plain(&csv("a, b\n1, \"x, y\"\n2, \"z\"\n")), [["1", "x, y"], ["2", "z"]]);
    assert_eq!(plain(&csv("path,n\n\"C:\\dir\\\",1\n\"D:\\\",2\n"))[0], ["C:\\dir\\", "1"]);
}

#[test]
fn broken_quotes_do_not_swallow_the_file() {
    let read = csv("a,b\n\"open,1\nx,2\ny,3\nz,4\n");
    assert_eq!(read.frame.rows.len(), 4);
    assert!(read.warnings.iter().any(|warning| warning.contains("quote")));
    let later = csv("a,b\n1,\"open\n2,x\n3,\"good\"\n4,y\n");
    assert_eq!(later.frame.rows.len(), 4);
    assert_eq!(plain(&csv("a,b\n5\" pipe,1\n6\" pipe,2\n"))[0][0], "5\" pipe");
    assert_eq!(plain(&csv("a,b\n\"x\" y,1\nz,2\n"))[0], ["x y", "1"]);
}

#[test]
fn ragged_rows_are_padded_and_cut() {
    let read = csv("a,b,c\n1,2,3\n4,5\n6,7,8,9\n10,11,12\n");
    assert_eq!(plain(&read), [["1", "2", "3"], ["4", "5", ""], ["6", "7", "8"], ["10", "11", "12"]]);
    assert!(read.layout.as_ref().unwrap().ragged);
    assert!(
        read.warnings.iter().any(|w| w.starts_with("1 row had fewer"))
            && read.warnings.iter().any(|w| w.starts_with("1 row had more"))
    );
}

#[test]
fn a_repeated_header_and_a_limit() {
    let read = csv("a,b\n1,2\na,b\n3,4\n");
    assert_eq!(plain(&read), [["1", "2"], ["3", "4"]]);
    let cut = read_csv(b"a\n1\n2\n3\n", 2).unwrap();
    assert!(cut.cut && cut.frame.rows.len() == 2);
    assert!(!read_csv(b"a\n1\n2\n3\n", 3).unwrap().cut);
}

#[test]
fn nothing_and_other_things_are_refused_in_words() {
    assert_eq!(read_csv(b"", 9), Err(ReadError::Empty));
    assert_eq!(read_csv(b" \n\r\n \n", 9), Err(ReadError::Empty));
    assert_eq!(read_csv(b"\xef\xbb\xbf", 9), Err(ReadError::Empty));
    assert!(matches!(read_csv(b"<!DOCTYPE html><html></html>", 9), Err(ReadError::NotTable(_))));
    let wide = vec!["1"; 20_000].join(",");
    assert!(matches!(read_csv(wide.as_bytes(), 9), Err(ReadError::TooLarge { .. })));
    for error in
        [ReadError::Empty, ReadError::Binary("this is x: do y"), ReadError::NoRecords("the list is empty")]
    {
        assert!(error.to_string().ends_with('.'));
    }
}

#[test]
fn kinds_of_a_messy_file() {
    let text = "id;Datum;Betrag;Quote;ok;PLZ\n1;31.12.2020;1.234,50 €;12,5 %;ja;01234\n2;01.02.2021;-5,00 \
        €;7 %;nein;99999\n";
    let read = csv(text);
    assert_eq!(kinds(&read), [Kind::Integer, Kind::Date, Kind::Number, Kind::Number, Kind::Text, Kind::Text]);
    assert_eq!(read.frame.cell(0, 1), &Value::Date(day(2020, 12, 31)));
    assert_eq!(read.frame.cell(0, 2), &Value::Float(1234.5));
    assert_eq!(read.frame.fields[3].unit, Unit::Percent);
}
