//! Tests of the front matter: parsed values, and errors by line.

use super::front::{parse, split};

fn read(text: &str) -> Result<String, (usize, String)> {
    parse(text).map(|front| format!("{}|{}|{}", front.name, front.description, front.allowed_tools.join("+")))
}

#[test]
fn front_matter() {
    for (text, expected) in [
        ("---\nname: a-1\ndescription: Does it.\n---\nbody", "a-1|Does it.|"),
        ("---\r\nname: a\r\ndescription: Does it.\r\n---\r\nbody", "a|Does it.|"),
        ("\u{feff}---\nname: a\ndescription: b\nallowed-tools: x y\nother: 5\n---\n", "a|b|x+y"),
        (
            "---\nname: a\ndescription: b\nallowed-tools: [file.read, file.write]\n---",
            "a|b|file.read+file.write",
        ),
        ("---\nname: a\ndescription: >\n  long\n  text\nmetadata:\n  version: 1\n---\n", "a|long text|"),
    ] {
        assert_eq!(read(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn front_matter_errors_have_lines() {
    let long = format!("---\nname: a\ndescription: {}\n---\n", "x".repeat(1025));
    for (text, line, part) in [
        ("", 1, "three dashes"),
        ("name: a", 1, "three dashes"),
        ("---\nname: a", 1, "not closed"),
        ("---\ndescription: b\n---\n", 2, "name is missing"),
        ("---\nname: a\n---\n", 2, "description is missing"),
        ("---\nname: Big Name\ndescription: b\n---\n", 2, "small letters"),
        ("---\nname: a/../b\ndescription: b\n---\n", 2, "small letters"),
        ("---\nname: a\ndescription: ''\n---\n", 3, "1 to 1024"),
        (long.as_str(), 3, "1 to 1024"),
    ] {
        let (at, what) = read(text).unwrap_err();
        assert!(at == line && what.contains(part), "{text}: {at} {what}");
    }
    let (line, what) = read("---\nname: a\ndescription: [b\n---\n").unwrap_err();
    assert!(line >= 3, "{line} {what}");
}

#[test]
fn body_follows_the_front_matter() {
    assert_eq!(split("---\na: b\n---\n# T\n---\nx").map(|(_, body)| body), Ok("# T\n---\nx"));
}
