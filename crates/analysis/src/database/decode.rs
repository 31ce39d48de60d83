//! Decodes the wire format of a database to cells. Decoding never fails: invalid bytes become null
//! or text.
//!
//! Both databases send binary values for prepared statements. The driver hands over the raw bytes,
//! so that one odd value never loses a whole result.

use chrono::{Duration, NaiveDate, NaiveDateTime, NaiveTime};

use crate::frame::{Field, Kind, Value};

/// Bytes up to this many are written out.
pub(super) const SHORT_BYTES: usize = 32;

/// The wire format of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Wire {
    /// One byte, PostgreSQL.
    Bool,
    /// Integer, big-endian.
    IntBig,
    /// Unsigned integer, big-endian.
    UnsignedBig,
    /// Integer, little-endian.
    IntLittle,
    /// Unsigned integer, little-endian.
    UnsignedLittle,
    /// MySQL's `TINYINT(1)`: a boolean by convention, but it may hold other numbers.
    TinyBool,
    /// MySQL's `BIT`, big-endian: mostly one bit, a boolean.
    Bit,
    /// Floating point, big-endian.
    FloatBig,
    /// Floating point, little-endian.
    FloatLittle,
    /// PostgreSQL's `NUMERIC`.
    Numeric,
    /// A decimal number as text.
    Decimal,
    /// Text.
    Text,
    /// Text if it is valid, otherwise a description of the bytes.
    Blob,
    /// Bytes that are never text.
    Opaque,
    /// PostgreSQL's dates.
    PostgresDate,
    /// PostgreSQL's timestamps.
    PostgresTimestamp,
    /// MySQL's dates.
    MySqlDate,
    /// MySQL's timestamps.
    MySqlTimestamp,
    /// MySQL's times of day and durations.
    MySqlTime,
    /// No value.
    Nothing,
}

impl Wire {
    /// The kind of a column, before its values are known.
    pub(super) fn kind(self) -> Kind {
        match self {
            Self::Bool | Self::TinyBool | Self::Bit => Kind::Boolean,
            Self::IntBig | Self::UnsignedBig | Self::IntLittle | Self::UnsignedLittle => Kind::Integer,
            Self::FloatBig | Self::FloatLittle | Self::Numeric | Self::Decimal => Kind::Number,
            Self::PostgresDate | Self::MySqlDate => Kind::Date,
            Self::PostgresTimestamp | Self::MySqlTimestamp => Kind::Timestamp,
            Self::Text | Self::Blob | Self::Opaque | Self::MySqlTime | Self::Nothing => Kind::Text,
        }
    }

    /// Decodes a cell.
    pub(super) fn read(self, bytes: &[u8]) -> Value {
        match self {
            Self::Bool => bytes.first().map_or(Value::Null, |byte| Value::Bool(*byte != 0)),
            Self::IntBig => signed(bytes.iter()),
            Self::UnsignedBig | Self::Bit => unsigned(bytes.iter()),
            Self::IntLittle | Self::TinyBool => signed(bytes.iter().rev()),
            Self::UnsignedLittle => unsigned(bytes.iter().rev()),
            Self::FloatBig => float(bytes, u32::from_be_bytes, u64::from_be_bytes),
            Self::FloatLittle => float(bytes, u32::from_le_bytes, u64::from_le_bytes),
            Self::Numeric => numeric(bytes).map_or(Value::Null, |written| decimal(&written)),
            Self::Decimal => decimal(&String::from_utf8_lossy(bytes)),
            Self::Text => Value::Text(String::from_utf8_lossy(bytes).into_owned()),
            Self::Blob => blob(bytes),
            Self::Opaque => described(bytes),
            Self::PostgresDate => postgres_date(bytes).unwrap_or_default(),
            Self::PostgresTimestamp => postgres_timestamp(bytes).unwrap_or_default(),
            Self::MySqlDate => mysql_date(bytes).map(Value::Date).unwrap_or_default(),
            Self::MySqlTimestamp => mysql_timestamp(bytes).map(Value::Time).unwrap_or_default(),
            Self::MySqlTime => mysql_time(bytes).map(Value::Text).unwrap_or_default(),
            Self::Nothing => Value::Null,
        }
    }
}

/// Corrects kinds that depend on the values: decimals without a fraction are whole numbers, and a
/// `TINYINT(1)` with values other than 0 and 1 is a number.
pub(super) fn settle(fields: &mut [Field], wires: &[Wire], rows: &mut [Vec<Value>]) {
    for (column, (field, wire)) in fields.iter_mut().zip(wires).enumerate() {
        let cells =
            || rows.iter().filter_map(|row| row.get(column)).filter(|cell| !matches!(cell, Value::Null));
        match wire {
            Wire::Numeric | Wire::Decimal => {
                let whole = cells().next().is_some() && cells().all(|cell| matches!(cell, Value::Int(_)));
                field.kind = if whole { Kind::Integer } else { Kind::Number };
            }
            Wire::IntLittle | Wire::UnsignedLittle | Wire::UnsignedBig
                if cells().any(|cell| matches!(cell, Value::Float(_))) =>
            {
                field.kind = Kind::Number;
            }
            Wire::TinyBool | Wire::Bit => {
                let truth = cells().all(|cell| matches!(cell, Value::Int(0 | 1)));
                field.kind = if truth { Kind::Boolean } else { Kind::Integer };
            }
            _ => continue,
        }
        for cell in rows.iter_mut().filter_map(|row| row.get_mut(column)) {
            match (field.kind, &cell) {
                (Kind::Number, Value::Int(whole)) => *cell = Value::Float(*whole as f64),
                (Kind::Boolean, Value::Int(bit)) => *cell = Value::Bool(*bit != 0),
                _ => {}
            }
        }
    }
}

/// The approximate memory size of a cell.
pub(super) fn weight(value: &Value) -> usize {
    size_of::<Value>() + if let Value::Text(text) = value { text.len() } else { 0 }
}

/// Decodes a big-endian integer.
fn signed<'a>(bytes: impl Iterator<Item = &'a u8>) -> Value {
    let mut number: Option<i64> = None;
    for byte in bytes.take(8) {
        number = Some(match number {
            // The first byte carries the sign.
            None => i64::from(i8::from_ne_bytes([*byte])),
            Some(high) => (high << 8) | i64::from(*byte),
        });
    }
    number.map_or(Value::Null, Value::Int)
}

/// Decodes a big-endian unsigned integer.
fn unsigned<'a>(bytes: impl Iterator<Item = &'a u8>) -> Value {
    let number = bytes.take(8).fold(0_u64, |high, byte| (high << 8) | u64::from(*byte));
    i64::try_from(number).map_or(Value::Float(number as f64), Value::Int)
}

fn float(bytes: &[u8], four: fn([u8; 4]) -> u32, eight: fn([u8; 8]) -> u64) -> Value {
    let number = if let Ok(bytes) = <[u8; 8]>::try_from(bytes) {
        f64::from_bits(eight(bytes))
    } else if let Ok(bytes) = <[u8; 4]>::try_from(bytes) {
        // Converted through the shortest text, so that 0.1 stays 0.1 and does not become
        // 0.10000000149.
        f32::from_bits(four(bytes)).to_string().parse().unwrap_or(f64::NAN)
    } else {
        f64::NAN
    };
    if number.is_finite() { Value::Float(number) } else { Value::Null }
}

/// A decimal text: a whole number if it has no fraction and fits.
fn decimal(written: &str) -> Value {
    let written = written.trim();
    if let Ok(whole) = written.parse::<i64>() {
        return Value::Int(whole);
    }
    written.parse::<f64>().ok().filter(|number| number.is_finite()).map_or(Value::Null, Value::Float)
}

/// PostgreSQL's `NUMERIC` as text: groups of four digits, weight of the first, sign, decimals.
fn numeric(bytes: &[u8]) -> Option<String> {
    let words: Vec<u16> = bytes
        .chunks_exact(2)
        .filter_map(|pair| <[u8; 2]>::try_from(pair).ok())
        .map(u16::from_be_bytes)
        .collect();
    let [count, weight, sign, scale, digits @ ..] = words.as_slice() else { return None };
    if !matches!(sign, 0 | 0x4000) || usize::from(*count) != digits.len() {
        // NaN or infinity.
        return None;
    }
    let weight = i32::from(i16::from_ne_bytes(weight.to_ne_bytes()));
    let mut written = String::from(if *sign == 0 { "" } else { "-" });
    let digit = |place: i32| {
        usize::try_from(weight - place).ok().and_then(|place| digits.get(place)).copied().unwrap_or(0)
    };
    if weight < 0 {
        written.push('0');
    }
    for place in (0..=weight.max(-1)).rev() {
        written.push_str(&format!("{:04}", digit(place)));
    }
    if *scale > 0 {
        written.push('.');
        let groups = i32::from(scale.div_ceil(4));
        let fraction: String = (1..=groups).map(|place| format!("{:04}", digit(-place))).collect();
        written.extend(fraction.chars().take(usize::from(*scale)));
    }
    Some(written)
}

fn blob(bytes: &[u8]) -> Value {
    match std::str::from_utf8(bytes) {
        Ok(text) if !text.chars().any(|c| c.is_control() && !c.is_whitespace()) => {
            Value::Text(text.to_owned())
        }
        _ => described(bytes),
    }
}

/// A placeholder for bytes that are not text: all of them if they are few, as in keys, otherwise
/// the length.
fn described(bytes: &[u8]) -> Value {
    if bytes.len() > SHORT_BYTES {
        return Value::Text(format!("({} bytes)", bytes.len()));
    }
    Value::Text(bytes.iter().fold("0x".to_owned(), |hex, byte| hex + &format!("{byte:02x}")))
}

/// The epoch of PostgreSQL.
fn postgres_epoch() -> Option<NaiveDate> {
    NaiveDate::from_ymd_opt(2000, 1, 1)
}

fn postgres_date(bytes: &[u8]) -> Option<Value> {
    let days = i32::from_be_bytes(bytes.try_into().ok()?);
    // The ends of the range are minus and plus infinity, which are not dates.
    postgres_epoch()?.checked_add_signed(Duration::try_days(i64::from(days))?).map(Value::Date)
}

fn postgres_timestamp(bytes: &[u8]) -> Option<Value> {
    let micros = i64::from_be_bytes(bytes.try_into().ok()?);
    if micros == i64::MAX || micros == i64::MIN {
        return None;
    }
    postgres_epoch()?
        .and_time(NaiveTime::MIN)
        .checked_add_signed(Duration::microseconds(micros))
        .map(Value::Time)
}

fn mysql_date(bytes: &[u8]) -> Option<NaiveDate> {
    // The first byte is the length.
    let [_, low, high, month, day, ..] = bytes else { return None };
    NaiveDate::from_ymd_opt(i32::from(u16::from_le_bytes([*low, *high])), u32::from(*month), u32::from(*day))
}

fn mysql_timestamp(bytes: &[u8]) -> Option<NaiveDateTime> {
    let date = mysql_date(bytes)?;
    let byte = |place: usize| bytes.get(place).copied().unwrap_or(0);
    let micros = u32::from_le_bytes([byte(8), byte(9), byte(10), byte(11)]);
    date.and_hms_micro_opt(u32::from(byte(5)), u32::from(byte(6)), u32::from(byte(7)), micros)
}

/// Times of day and durations, as MySQL writes them: `-26:30:00`.
fn mysql_time(bytes: &[u8]) -> Option<String> {
    let length = bytes.first()?;
    let byte = |place: usize| bytes.get(place).copied().unwrap_or(0);
    if *length == 0 {
        return Some("00:00:00".to_owned());
    }
    let days = u32::from_le_bytes([byte(2), byte(3), byte(4), byte(5)]);
    let hours = u64::from(days) * 24 + u64::from(byte(6));
    let micros = u32::from_le_bytes([byte(9), byte(10), byte(11), byte(12)]);
    let sign = if byte(1) == 1 { "-" } else { "" };
    let mut written = format!("{sign}{hours:02}:{:02}:{:02}", byte(7), byte(8));
    if micros > 0 {
        written.push_str(format!(".{micros:06}").trim_end_matches('0'));
    }
    Some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[u16]) -> Vec<u8> {
        words.iter().flat_map(|word| word.to_be_bytes()).collect()
    }

    #[test]
    fn numerics() {
        // 12345.678: groups 1, 2345, 6780.
        assert_eq!(numeric(&words(&[3, 1, 0, 3, 1, 2345, 6780])).unwrap(), "00012345.678");
        assert_eq!(Wire::Numeric.read(&words(&[3, 1, 0x4000, 3, 1, 2345, 6780])), Value::Float(-12345.678));
        assert_eq!(Wire::Numeric.read(&words(&[1, 0xffff, 0, 2, 500])), Value::Float(0.05));
        assert_eq!(Wire::Numeric.read(&words(&[1, 0xfffe, 0, 6, 100])), Value::Float(0.000_001));
        assert_eq!(Wire::Numeric.read(&words(&[1, 2, 0, 0, 7])), Value::Int(700_000_000));
        assert_eq!(Wire::Numeric.read(&words(&[0, 0, 0, 0])), Value::Int(0));
        for odd in [&[0, 0, 0xc000, 0][..], &[0, 0, 0xd000, 0], &[0, 0, 0xf000, 0], &[5, 0, 0, 0], &[1]] {
            assert_eq!(Wire::Numeric.read(&words(odd)), Value::Null);
        }
    }

    #[test]
    fn whole_numbers() {
        assert_eq!(Wire::IntBig.read(&(-2_i16).to_be_bytes()), Value::Int(-2));
        assert_eq!(Wire::IntBig.read(&i64::MIN.to_be_bytes()), Value::Int(i64::MIN));
        assert_eq!(Wire::IntLittle.read(&(-70_000_i32).to_le_bytes()), Value::Int(-70_000));
        assert_eq!(Wire::UnsignedLittle.read(&u64::MAX.to_le_bytes()), Value::Float(u64::MAX as f64));
        assert_eq!(Wire::UnsignedLittle.read(&200_u8.to_le_bytes()), Value::Int(200));
        assert_eq!(Wire::IntBig.read(&[]), Value::Null);
    }

    #[test]
    fn floats_and_times() {
        assert_eq!(Wire::FloatBig.read(&0.1_f32.to_be_bytes()), Value::Float(0.1));
        assert_eq!(Wire::FloatLittle.read(&f64::INFINITY.to_le_bytes()), Value::Null);
        assert_eq!(Wire::PostgresDate.read(&i32::MAX.to_be_bytes()), Value::Null);
        assert_eq!(Wire::PostgresTimestamp.read(&i64::MAX.to_be_bytes()), Value::Null);
        assert_eq!(
            Wire::PostgresDate.read(&31_i32.to_be_bytes()),
            Value::Date(NaiveDate::from_ymd_opt(2000, 2, 1).unwrap())
        );
        assert_eq!(Wire::MySqlDate.read(&[0]), Value::Null);
        assert_eq!(Wire::MySqlDate.read(&[4, 0xe8, 7, 0, 0]), Value::Null);
        assert_eq!(Wire::MySqlTime.read(&[8, 1, 1, 0, 0, 0, 2, 30, 0]), Value::Text("-26:30:00".into()));
    }

    #[test]
    fn no_bytes_panic() {
        let wires = [
            Wire::Bool,
            Wire::IntBig,
            Wire::UnsignedBig,
            Wire::IntLittle,
            Wire::UnsignedLittle,
            Wire::TinyBool,
            Wire::Bit,
            Wire::FloatBig,
            Wire::FloatLittle,
            Wire::Numeric,
            Wire::Decimal,
            Wire::Text,
            Wire::Blob,
            Wire::Opaque,
            Wire::PostgresDate,
            Wire::PostgresTimestamp,
            Wire::MySqlDate,
            Wire::MySqlTimestamp,
            Wire::MySqlTime,
            Wire::Nothing,
        ];
        let mut state = 1_u64;
        for _ in 0..20_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let length = (state >> 40) as usize % 20;
            let bytes: Vec<u8> = (0..length).map(|place| (state >> (place * 3)) as u8).collect();
            for wire in wires {
                let _cell = wire.read(&bytes);
            }
        }
    }

    #[test]
    fn kinds_settle_by_value() {
        let mut fields = vec![
            Field::new("a", Kind::Number),
            Field::new("b", Kind::Boolean),
            Field::new("c", Kind::Number),
        ];
        let wires = [Wire::Decimal, Wire::TinyBool, Wire::Decimal];
        let mut rows = vec![
            vec![Value::Int(1), Value::Int(1), Value::Int(1)],
            vec![Value::Null, Value::Int(0), Value::Float(0.5)],
        ];
        settle(&mut fields, &wires, &mut rows);
        assert_eq!(
            fields.iter().map(|f| f.kind).collect::<Vec<_>>(),
            [Kind::Integer, Kind::Boolean, Kind::Number]
        );
        assert_eq!(rows[0], [Value::Int(1), Value::Bool(true), Value::Float(1.0)]);
    }
}
