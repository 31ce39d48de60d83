//! Files of any kind, and samples.

use super::*;

#[test]
fn the_kind_of_file_is_told_by_its_start() {
    for text in [
        "a,b\n1,x\n",
        "[{\"a\":1,\"b\":\"x\"}]",
        "{\"a\":1,\"b\":\"x\"}\n{oops\n",
        "{\"a\":[1],\"b\":[\"x\"]}\n",
    ] {
        assert_eq!(plain(&read_any(text.as_bytes(), 9).unwrap()), [["1", "x"]], "{text}");
    }
}

#[test]
fn a_sample_leaves_out_the_line_that_was_cut() {
    let read = inspect(b"a,b\n1,2021-03-04\n2,2021-03-05\n3,2021-0", 100).unwrap();
    assert_eq!(kinds(&read), [Kind::Integer, Kind::Date]);
    assert!(!read.layout.unwrap().ragged && read.frame.rows.len() == 2);
}

#[test]
fn a_sample_leaves_out_the_value_that_was_cut() {
    let whole =
        "id,note\n".to_owned() + &(0..9).map(|n| format!("{n},\"one\ntwo\nthree\"\n")).collect::<String>();
    let cut = whole.find("8,").unwrap() + 8;
    let read = inspect(&whole.as_bytes()[..cut], 100).unwrap();
    assert_eq!((kinds(&read), read.frame.rows.len()), (vec![Kind::Integer, Kind::Text], 8));
    assert!(read.warnings.is_empty());
}
