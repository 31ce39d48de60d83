//! Random and mutated input: nothing may panic, and the output of strict writers is read back
//! unchanged.

use super::*;

/// A simple generator, so that every run tries the same.
struct Seed(u64);

impl Seed {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below.max(1) as u64) as usize
    }
}

const SEEDS: [&str; 7] = [
    "a,b,c\n1,2.5,x\n2,\"y, z\",2021-03-04\n3,$4.50,12%\n",
    "Name;Größe;Datum\n\"Jürgen \"\"J\"\"\";1.234,5;31.12.2020 10:05\nx;;\n",
    "sep=|\n# note\nid|t\n00123|Mar 4, 2021 1:05 PM\n00124|2021-03-04T10:05:06+02:00\n",
    "[{\"a\":1,\"b\":{\"c\":[1,2]}},{\"a\":null}]",
    "{\"a\":1}\n{\"b\":\"x\"}\n{\"a\":2.5e3}\n",
    "名前\t都市\n山田\t東京\n(1,234)\t5-\n",
    "x  y  z\n1  2  3\n'q'  \"\"  \\\"\n",
];
const PIECES: [&[u8]; 20] = [
    b"\"",
    b"'",
    b",",
    b";",
    b"\t",
    b"\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xe4",
    b"\xf0\x9f",
    b"#",
    b"\\",
    b"-",
    b"9999999999999999999",
    b"1e308",
    b":",
    b"%",
    b"{",
    b"[",
];

#[test]
fn mutated_files_never_panic_and_rows_have_one_width() {
    let mut seed = Seed(0x9e37_79b9_7f4a_7c15);
    for round in 0..2500 {
        let mut bytes = SEEDS[round % SEEDS.len()].as_bytes().to_vec();
        for _ in 0..=seed.next(12) {
            let at = seed.next(bytes.len() + 1).min(bytes.len());
            match seed.next(4) {
                0 => drop(bytes.splice(at..at, PIECES[seed.next(PIECES.len())].iter().copied())),
                1 if at < bytes.len() => bytes[at] = seed.next(256) as u8,
                2 => bytes.truncate(at),
                _ => {
                    let to = (at + seed.next(9)).min(bytes.len());
                    bytes.drain(at..to);
                }
            }
        }
        for read in
            [read_csv(&bytes, 50), read_json(&bytes, 50), read_ndjson(&bytes, 50)].into_iter().flatten()
        {
            let width = read.frame.fields.len();
            assert!(read.frame.rows.iter().all(|row| row.len() == width));
            assert_eq!((read.labels.len(), read.columns.len()), (width, width));
        }
    }
}

#[test]
fn random_values_never_panic() {
    let mut seed = Seed(42);
    let alphabet: Vec<char> = "0123456789.,-+()%$€ :/TZeEkMm'\u{a0}JanMarPM\u{2212}".chars().collect();
    for _ in 0..200_000 {
        let text: String = (0..seed.next(14)).map(|_| alphabet[seed.next(alphabet.len())]).collect();
        let _ = (
            number::number(&text, ','),
            number::integer(&text, '.'),
            moment(&text, Order::Dmy),
            number::look(&text),
        );
        let found = column("date", &[&text]);
        assert!(found.format == ValueFormat::Text || found.format.fits(&text) || is_nothing(&text), "{text}");
    }
}

/// A cell with every character that needs quoting.
fn cell(seed: &mut Seed) -> String {
    const PARTS: [&str; 14] =
        ["a", "b c", ",", ";", "\"", "\n", "\r\n", "1.5", "|", "é", "\t", "'", "x\"y", "2021-03-04"];
    (0..seed.next(4)).map(|_| PARTS[seed.next(PARTS.len())]).collect()
}

#[test]
fn what_a_strict_writer_wrote_is_read_alike() {
    let mut seed = Seed(7);
    for round in 0..1500 {
        let delimiter = b",;\t|"[round % 4];
        let (width, height) = (2 + seed.next(5), 1 + seed.next(8));
        let table: Vec<Vec<String>> =
            (0..height).map(|_| (0..width).map(|_| cell(&mut seed)).collect()).collect();
        let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
        for row in &table {
            writer.write_record(row).unwrap();
        }
        let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
        let shape = super::super::records::Shape { delimiter, quote: b'"', escape: None, wide: false };
        let mut records = super::super::records::Records::new(&text, shape);
        let (mut row, mut read) = (Vec::new(), Vec::new());
        while records.next_into(&mut row) {
            read.push(row.iter().map(ToString::to_string).collect::<Vec<_>>());
        }
        assert_eq!(read, table, "{text:?}");
        assert_eq!(records.broken_quotes, 0, "{text:?}");
    }
}

#[test]
fn the_separator_of_a_strict_writer_is_found() {
    let mut seed = Seed(11);
    let mut wrong = 0;
    for round in 0..400 {
        let delimiter = b",;\t|"[round % 4];
        let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
        writer.write_record(["id", "note", "when", "amount"]).unwrap();
        for number in 0..12 {
            let date = format!("2021-03-{:02}", 1 + seed.next(28));
            let amount = format!("{}.{}", seed.next(1000), seed.next(100));
            writer.write_record([number.to_string(), cell(&mut seed), date, amount]).unwrap();
        }
        let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
        let layout = sniff(&text).unwrap();
        wrong +=
            usize::from(layout.delimiter != delimiter || layout.columns != ["id", "note", "when", "amount"]);
    }
    assert_eq!(wrong, 0);
}
