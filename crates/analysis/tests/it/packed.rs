//! Compressed files, archives, partitioned folders, Arrow and Avro.

use crate::workbooks::zipped;
use crate::{code, open, open_with, rows, write};
use std::io::Write as _;
use steward_analysis::session::Options;

const CSV: &str = "city;amount\nRome;1,5\nBari;2,5\n";

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

fn bzip2(bytes: &[u8]) -> Vec<u8> {
    let mut out = bzip2::write::BzEncoder::new(Vec::new(), bzip2::Compression::fast());
    out.write_all(bytes).unwrap();
    out.finish().unwrap()
}

/// The text `city,amount\nRome,1.5\nBari,2.5\n`, compressed by `xz`.
const XZ: &str = include_str!("cities.csv.xz.hex");

fn from_hex(hex: &str) -> Vec<u8> {
    let hex: Vec<char> = hex.chars().filter(char::is_ascii_hexdigit).collect();
    hex.chunks(2).map(|pair| u8::from_str_radix(&pair.iter().collect::<String>(), 16).unwrap()).collect()
}

fn tar(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = tar::Builder::new(Vec::new());
    for (name, bytes) in members {
        let mut header = tar::Header::new_ustar();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, *bytes).unwrap();
    }
    archive.into_inner().unwrap()
}

#[tokio::test]
async fn compressed_files_are_read_as_what_is_in_them() {
    let folder = tempfile::tempdir().unwrap();
    let ndjson = b"{\"city\": \"Rome\", \"amount\": 1.5}\n{\"city\": \"Bari\", \"amount\": 2.5}\n";
    let json = b"[{\"city\": \"Rome\", \"amount\": 1.5}, {\"city\": \"Bari\", \"amount\": 2.5}]";
    for (name, bytes) in [
        ("a.csv.gz", gzip(CSV.as_bytes())),
        ("b.csv.zst", zstd::encode_all(CSV.as_bytes(), 3).unwrap()),
        ("c.csv.bz2", bzip2(CSV.as_bytes())),
        ("d.csv.xz", from_hex(XZ)),
        ("e.ndjson.gz", gzip(ndjson)),
        ("f.json.zst", zstd::encode_all(&json[..], 3).unwrap()),
        ("g.jsonl.bz2", bzip2(ndjson)),
        // Two streams one after the other are one file, as `cat` makes it.
        ("h.csv.gz", [gzip(b"city;amount\nRome;1,5\n"), gzip(b"Bari;2,5\n")].concat()),
        ("i.csv", gzip(CSV.as_bytes())),
    ] {
        let path = write(folder.path(), name, bytes);
        let bench = open(&[path]).await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let table = name.split('.').next().unwrap();
        let got = rows(&bench, &format!("SELECT city, amount FROM {table} ORDER BY city")).await;
        assert_eq!(got, [["Bari", "2.5"], ["Rome", "1.5"]], "{name}");
    }
}

#[tokio::test]
async fn members_of_archives_are_tables() {
    let folder = tempfile::tempdir().unwrap();
    let zip = zipped(&[
        ("data/cities.csv", CSV),
        ("data/people.json", "[{\"name\": \"Ada\", \"city\": \"Rome\"}]"),
        ("../../escape.csv", "x\n1\n"),
        ("notes.pdf", "%PDF-"),
        ("__MACOSX/._cities.csv", "junk"),
    ]);
    let bench = open(&[write(folder.path(), "export.zip", zip)]).await.unwrap();
    let names: Vec<&str> = bench.session.catalogue().tables.iter().map(|table| table.name.as_str()).collect();
    assert_eq!(names, ["cities", "people", "escape"]);
    let sql = "SELECT name, amount FROM people JOIN cities USING (city)";
    assert_eq!(rows(&bench, sql).await, [["Ada", "1.5"]]);
    assert!(
        bench.session.warnings()[0].contains("export.zip: left out notes.pdf"),
        "{:?}",
        bench.session.warnings()
    );
    assert!(!folder.path().parent().unwrap().join("escape.csv").exists(), "a member never chooses its place");

    let inner = gzip(CSV.as_bytes());
    let tar =
        tar(&[("a/cities.csv", CSV.as_bytes()), ("a/towns.csv.gz", &inner), ("a/readme.txt", b"hello")]);
    for (name, bytes) in
        [("plain.tar", tar.clone()), ("packed.tar.gz", gzip(&tar)), ("short.tgz", gzip(&tar))]
    {
        let bench = open(&[write(folder.path(), name, bytes)]).await.unwrap();
        let sql = "SELECT sum(c.amount), sum(t.amount) FROM cities c JOIN towns t USING (city)";
        assert_eq!(rows(&bench, sql).await, [["4", "4"]], "{name}");
    }
}

#[tokio::test]
async fn bombs_and_broken_archives_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let zeros = vec![b'0'; 80 << 20];
    let cut = gzip(&(0..200_000_u32).flat_map(|n| format!("{n}\n").into_bytes()).collect::<Vec<_>>());
    let zip_bomb = {
        let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        zip.start_file("a.csv", zip::write::SimpleFileOptions::default()).unwrap();
        zip.write_all(&zeros).unwrap();
        zip.finish().unwrap().into_inner()
    };
    for (name, bytes, expected, words) in [
        ("bomb.csv.gz", gzip(&zeros), "ANA012", "decompression bomb"),
        ("bomb.csv.zst", zstd::encode_all(&zeros[..], 3).unwrap(), "ANA012", "decompression bomb"),
        ("bomb.zip", zip_bomb, "ANA012", "decompression bomb"),
        ("cut.csv.gz", cut[..cut.len() / 2].to_vec(), "ANA002", "cut off"),
        ("deep.csv.gz", gzip(&gzip(&gzip(&gzip(&gzip(b"a\n1\n"))))), "ANA002", "again and again"),
        ("none.zip", zipped(&[("a.pdf", "x")]), "ANA002", "no data in the archive"),
        ("half.zip", zipped(&[("a.csv", CSV)])[..60].to_vec(), "ANA002", "damaged"),
    ] {
        let path = write(folder.path(), name, bytes);
        let error = open(&[path]).await.err().unwrap_or_else(|| panic!("{name} was opened"));
        assert_eq!(code(&error), expected, "{name}: {error}");
        assert!(error.to_string().contains(words), "{name}: {error}");
    }
}

#[tokio::test]
async fn what_was_unpacked_is_removed_with_the_session() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), "a.csv.gz", gzip(CSV.as_bytes()));
    let bench = open(&[path]).await.unwrap();
    let scratch = bench.session.scratch_folder().unwrap();
    assert!(scratch.exists());
    drop(bench);
    assert!(!scratch.exists());
}

#[tokio::test]
async fn a_mixed_folder_says_what_it_left_out() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "cities.csv", CSV);
    write(folder.path(), "notes.txt", "hello");
    write(folder.path(), "broken.json", "[{\"a\":");
    write(folder.path(), "cut.xlsx", b"PK\x03\x04\x14\x00");
    write(folder.path(), ".hidden.csv", "a\n1\n");
    std::fs::create_dir(folder.path().join("archive")).unwrap();
    let bench = open(&[folder.path().display().to_string()]).await.unwrap();
    assert_eq!(bench.session.catalogue().tables.len(), 1);
    let said = bench.session.warnings().join("\n");
    for words in
        ["notes.txt (not a kind of data", "archive (a folder", "cut.xlsx (", "broken.json: left out, because"]
    {
        assert!(said.contains(words), "{words} in {said}");
    }
    assert!(!said.contains(".hidden"), "{said}");
    // A broken file that was named directly is an error, not a warning.
    let error = open(&[folder.path().join("broken.json").display().to_string()]).await.err().unwrap();
    assert_eq!(code(&error), "ANA002");
}

#[tokio::test]
async fn many_files_share_the_time_that_a_few_would_get() {
    let folder = tempfile::tempdir().unwrap();
    for file in 0..6 {
        let mut text = String::from("id,amount,city\n");
        for row in 0..60_000 - 1_000 * file {
            text.push_str(&format!("{row},{}.5,City number {}\n", row % 100, row % 7));
        }
        write(folder.path(), &format!("table{}.csv", ["a", "b", "c", "d", "e", "f"][file]), text);
    }
    write(folder.path(), "small.csv", "id,amount\n1,2\n");
    let options = Options { small_file: 1_600_000, ..Options::default() };
    let bench = open_with(&[folder.path().display().to_string()], options).await.unwrap();
    let catalogue = bench.session.catalogue();
    assert!(catalogue.table("small").unwrap().columns[0].complete, "the smallest are read whole");
    let sampled =
        catalogue.tables.iter().filter(|table| table.column("city").is_some_and(|city| !city.complete));
    assert_eq!(sampled.count(), 4, "what is beyond the budget is sampled");
    // A sampled file is still queried completely.
    for (name, count, sum) in [("tablea", "60000", "3000000"), ("tablef", "55000", "2750000")] {
        let sql = format!("SELECT count(*), sum(amount) FROM {name}");
        assert_eq!(rows(&bench, &sql).await, [[count, sum]], "{name}");
    }
}
