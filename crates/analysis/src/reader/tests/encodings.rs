//! Encodings old and new, and files that are no text.

use super::*;
use encoding_rs::{Encoding, UTF_8, UTF_16BE, UTF_16LE};

const WESTERN: &str =
    "nom;ville;prix\nRené;Besançon;5 €\nAmélie;Orléans;7 €\nJürgen;Köln;9 €\nMuñoz;León;1 €\n";
const CENTRAL: &str =
    "jméno;město\nJiří Dvořák;Plzeň\nŽofie Šťastná;Děčín\nŁukasz Wiśniewski;Łódź\nZażółć gęślą;jaźń\n";
const CYRILLIC: &str = "имя;город\nИван Петров;Москва\nАнна Смирнова;Новосибирск\nЮрий;Щёлково\n";
const JAPANESE: &str = "名前;都市\n山田太郎;東京\nさくら;カタカナ大阪\n日本語のテキストです;京都\n";
const CHINESE: &str = "姓名;城市\n张伟;北京\n王芳;上海\n这是一个简单的中文文件;广州\n";
const KOREAN: &str = "이름;도시\n김철수;서울\n박영희;부산\n한국어 문장입니다;대구\n";
const GREEK: &str = "όνομα;πόλη\nΓιώργος Παπαδόπουλος;Αθήνα\nΜαρία;Θεσσαλονίκη\n";
const TURKISH: &str = "ad;şehir\nAyşe Yılmaz;İstanbul\nÇağlar Öztürk;Eskişehir\nIşıl Doğan;Muğla\n";

fn detected(bytes: &[u8]) -> &'static Encoding {
    match detect(bytes) {
        Detected::Text(charset) => charset.encoding,
        Detected::Binary(what) => panic!("binary: {what}"),
    }
}

#[test]
fn old_encodings_are_guessed() {
    use encoding_rs::{
        EUC_JP, EUC_KR, GB18030, KOI8_R, SHIFT_JIS, WINDOWS_1250, WINDOWS_1251, WINDOWS_1252, WINDOWS_1253,
        WINDOWS_1254,
    };
    let cases = [
        (WESTERN, WINDOWS_1252),
        (CENTRAL, WINDOWS_1250),
        (CYRILLIC, WINDOWS_1251),
        (CYRILLIC, KOI8_R),
        (CYRILLIC, encoding_rs::IBM866),
        (JAPANESE, SHIFT_JIS),
        (JAPANESE, EUC_JP),
        (CHINESE, GB18030),
        (KOREAN, EUC_KR),
        (GREEK, WINDOWS_1253),
        (TURKISH, WINDOWS_1254),
    ];
    for (text, encoding) in cases {
        let (bytes, _, lossy) = encoding.encode(text);
        assert!(!lossy);
        assert_eq!(detected(&bytes).name(), encoding.name(), "{text}");
        let read = read_csv(&bytes, 10).unwrap();
        assert_eq!(read.labels.join(";"), text.lines().next().unwrap());
        assert!(read.warnings[0].contains("guessed"));
    }
}

#[test]
fn a_single_letter_is_western_unless_it_cannot_be() {
    use encoding_rs::{WINDOWS_1250, WINDOWS_1252};
    for (text, encoding) in [
        ("naïve", WINDOWS_1252),
        ("Zoë", WINDOWS_1252),
        ("café", WINDOWS_1252),
        ("£5", WINDOWS_1252),
        ("25°C", WINDOWS_1252),
        ("“so”", WINDOWS_1252),
        ("Ñandú", WINDOWS_1252),
        ("Łódź", WINDOWS_1250),
        ("Wałęsa", WINDOWS_1250),
    ] {
        let text = format!("name,n\n{text},1\nplain,2\n");
        assert_eq!(detected(&encoding.encode(&text).0).name(), encoding.name(), "{text}");
    }
}

#[test]
fn unicode_is_found_with_and_without_a_mark() {
    for text in [WESTERN, CENTRAL, CYRILLIC, JAPANESE, CHINESE, KOREAN] {
        assert_eq!(detected(text.as_bytes()), UTF_8);
        let marked = [b"\xef\xbb\xbf", text.as_bytes()].concat();
        assert_eq!(read_csv(&marked, 9).unwrap().labels, read_csv(text.as_bytes(), 9).unwrap().labels);
        for (mark, encoding, big) in [
            (true, UTF_16LE, false),
            (true, UTF_16BE, true),
            (false, UTF_16LE, false),
            (false, UTF_16BE, true),
        ] {
            let mut bytes = Vec::new();
            let head = if mark { Some(0xfeff_u16) } else { None };
            for unit in head.into_iter().chain(text.encode_utf16()) {
                bytes.extend(if big { unit.to_be_bytes() } else { unit.to_le_bytes() });
            }
            assert_eq!(detected(&bytes), encoding, "{text}");
            let read = read_csv(&bytes, 9).unwrap();
            assert_eq!(read.labels.join(";"), text.lines().next().unwrap());
        }
    }
}

#[test]
fn a_sample_may_cut_a_character_and_few_bytes_may_be_bad() {
    let bytes = JAPANESE.as_bytes();
    for end in 1..bytes.len() {
        assert_eq!(detected(&bytes[..end]), UTF_8, "{end}");
    }
    let mut broken = JAPANESE.repeat(5).into_bytes();
    broken.extend(b"x\xff\n");
    let Detected::Text(charset) = detect(&broken) else { panic!() };
    assert_eq!((charset.encoding, decode(&broken, charset).bad), (UTF_8, 1));
    // Plain for longer than the sample, then Western.
    let mut late = b"a,b\n1,2\n".repeat(50_000);
    late.extend(b"caf\xe9,3\n");
    let read = read_csv(&late, 1_000_000).unwrap();
    assert_eq!(read.encoding, "windows-1252");
}

#[test]
fn other_files_are_named() {
    let cases: [(&[u8], &str); 9] = [
        (b"PK\x03\x04xxxx", "Excel"),
        (b"\x1f\x8b\x08xxx", "gzip"),
        (b"%PDF-1.7\n", "PDF"),
        (b"\x89PNG\r\n\x1a\n", "PNG"),
        (b"PAR1\x15\0", "Parquet"),
        (b"SQLite format 3\0", "SQLite"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "Excel"),
        (b"\0\x01\x02\x03\x04\x05\0\0\x07", "binary"),
        (b"\xff\xfe\0\0a\0\0\0", "UTF-32"),
    ];
    for (bytes, word) in cases {
        let Err(error) = read_csv(bytes, 9) else { panic!("{word}") };
        assert!(error.to_string().contains(word), "{error}");
    }
    assert_eq!(names_of(&csv("ORC,weight\nx,1\n")), ["orc", "weight"]);
}

#[test]
fn streams_are_converted_in_pieces() {
    let (bytes, _, _) = encoding_rs::SHIFT_JIS.encode(JAPANESE);
    let many = bytes.repeat(3000);
    let Detected::Text(charset) = detect(&many) else { panic!() };
    let mut out = Vec::new();
    assert_eq!(super::super::encoding::transcode(many.as_slice(), &mut out, charset).unwrap(), 0);
    assert_eq!(String::from_utf8(out).unwrap(), JAPANESE.repeat(3000));
}
