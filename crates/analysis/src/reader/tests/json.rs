//! JSON in its many shapes.

use super::*;

#[test]
fn every_shape_of_json_is_a_table() {
    let expected = [["1", "x"], ["2", "y"]];
    for text in [
        r#"[{"a":1,"b":"x"},{"a":2,"b":"y"}]"#,
        r#"{"a":[1,2],"b":["x","y"]}"#,
        r#"{"total":2,"data":[{"a":1,"b":"x"},{"a":2,"b":"y"}]}"#,
        r#"{"response":{"items":[{"a":1,"b":"x"},{"a":2,"b":"y"}]}}"#,
        r#"[["a","b"],[1,"x"],[2,"y"]]"#,
        r#"{"a":{"0":1,"1":2},"b":{"0":"x","1":"y"}}"#,
        "{\"a\":1,\"b\":\"x\"}\n{\"a\":2,\"b\":\"y\"}\n",
    ] {
        let read = read_json(text.as_bytes(), 100).unwrap();
        assert_eq!(names_of(&read), ["a", "b"], "{text}");
        assert_eq!(plain(&read), expected, "{text}");
    }
}

#[test]
fn nested_objects_become_columns_in_their_order() {
    let read = read_json(
        br#"[{"z":1,"a":{"c":{"d":"2021-03-04"},"b":[1,{"k":"v"}]}},{"a":{"b":null},"new":true}]"#,
        100,
    )
    .unwrap();
    assert_eq!(read.labels, ["z", "a.c.d", "a.b", "new"]);
    assert_eq!(names_of(&read), ["z", "a_c_d", "a_b", "new"]);
    assert_eq!(kinds(&read), [Kind::Integer, Kind::Date, Kind::Text, Kind::Boolean]);
    assert_eq!(read.frame.cell(0, 2), &Value::Text(r#"[1,{"k":"v"}]"#.into()));
    assert_eq!(read.frame.cell(1, 0), &Value::Null);
}

#[test]
fn broken_json_says_where() {
    let error = read_json(b"[{\"a\":1},\n{\"a\":}]", 9).unwrap_err();
    assert!(matches!(error, ReadError::NotJson { line: 2, .. }), "{error:?}");
    assert!(error.to_string().contains("line 2"));
    for text in ["[]", "{}", "5", "\"x\"", "[null]"] {
        assert!(matches!(read_json(text.as_bytes(), 9), Err(ReadError::NoRecords(_))), "{text}");
    }
    let deep = "[".repeat(100_000);
    assert!(matches!(read_json(deep.as_bytes(), 9), Err(ReadError::NotJson { .. })));
    let deep = format!("{}1{}", "{\"a\":".repeat(100), "}".repeat(100));
    assert!(read_json(format!("[{deep}]").as_bytes(), 9).is_ok());
}

#[test]
fn bad_lines_are_counted() {
    let read = read_ndjson(b"{\"a\":1}\nnot json\n\n{\"a\":2}\n[1]\n", 9).unwrap();
    assert_eq!(plain(&read), [["1"], ["2"]]);
    assert!(
        read.warnings[0].starts_with("2 lines were not a JSON object") && read.warnings[0].contains("line 2")
    );
    assert!(matches!(read_ndjson(b"nope\nnope\n", 9), Err(ReadError::NotJson { line: 1, .. })));
    assert!(matches!(read_ndjson(b"\n\n", 9), Err(ReadError::Empty)));
    assert!(read_ndjson(b"{\"a\":1}\n{\"a\":2}\n", 1).unwrap().cut);
}
