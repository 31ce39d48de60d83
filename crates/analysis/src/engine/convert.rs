//! Conversion between the engine's columns and our frames.

use crate::frame::{Field, Frame, Kind, Value};
use chrono::{DateTime, Datelike, NaiveDate};
use datafusion::arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, Date32Array, Float64Array, Int64Array, RecordBatch, StringArray,
    TimestampMicrosecondArray,
};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{
    DataType, Date32Type, Field as ArrowField, Float64Type, Int64Type, Schema, SchemaRef, TimeUnit,
    TimestampMicrosecondType,
};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::util::display::{ArrayFormatter, FormatOptions};
use std::sync::Arc;

/// Days from 0001-01-01 to 1970-01-01.
const EPOCH: i32 = 719_163;

/// The engine's type for a kind.
pub(crate) fn data_type(kind: Kind) -> DataType {
    match kind {
        Kind::Boolean => DataType::Boolean,
        Kind::Integer => DataType::Int64,
        Kind::Number => DataType::Float64,
        Kind::Text => DataType::Utf8,
        Kind::Date => DataType::Date32,
        Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, None),
    }
}

/// The kind of an engine's type.
pub(crate) fn kind(data_type: &DataType) -> Kind {
    match data_type {
        DataType::Boolean => Kind::Boolean,
        DataType::Date32 | DataType::Date64 => Kind::Date,
        DataType::Timestamp(..) => Kind::Timestamp,
        DataType::Decimal128(_, 0) | DataType::Decimal256(_, 0) => Kind::Integer,
        other if other.is_integer() => Kind::Integer,
        other if other.is_numeric() => Kind::Number,
        DataType::Dictionary(_, value) => kind(value),
        _ => Kind::Text,
    }
}

/// A frame as one batch. Cells that do not match their column's kind become null.
pub(crate) fn to_batch(frame: &Frame) -> Result<RecordBatch, ArrowError> {
    let fields: Vec<ArrowField> =
        frame.fields.iter().map(|field| ArrowField::new(&field.name, data_type(field.kind), true)).collect();
    let columns: Vec<ArrayRef> =
        frame.fields.iter().enumerate().map(|(index, field)| array(frame, index, field.kind)).collect();
    let options = datafusion::arrow::array::RecordBatchOptions::new().with_row_count(Some(frame.rows.len()));
    RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), columns, &options)
}

fn array(frame: &Frame, index: usize, kind: Kind) -> ArrayRef {
    let cells = frame.column(index);
    match kind {
        Kind::Boolean => Arc::new(BooleanArray::from_iter(cells.map(|cell| match cell {
            Value::Bool(b) => Some(*b),
            _ => None,
        }))),
        Kind::Integer => Arc::new(Int64Array::from_iter(cells.map(|cell| match cell {
            Value::Int(n) => Some(*n),
            Value::Float(f) if f.fract() == 0.0 && f.abs() < 9e15 => Some(*f as i64),
            _ => None,
        }))),
        Kind::Number => Arc::new(Float64Array::from_iter(cells.map(Value::number))),
        Kind::Text => {
            Arc::new(StringArray::from_iter(cells.map(|cell| (!cell.is_null()).then(|| cell.plain()))))
        }
        Kind::Date => Arc::new(Date32Array::from_iter(cells.map(|cell| match cell {
            Value::Date(date) => Some(days(*date)),
            Value::Time(time) => Some(days(time.date())),
            _ => None,
        }))),
        Kind::Timestamp => Arc::new(TimestampMicrosecondArray::from_iter(cells.map(|cell| match cell {
            Value::Time(time) => Some(time.and_utc().timestamp_micros()),
            Value::Date(date) => Some(i64::from(days(*date)) * 86_400_000_000),
            _ => None,
        }))),
    }
}

/// Days since 1970.
pub(crate) fn days(date: NaiveDate) -> i32 {
    date.num_days_from_ce() - EPOCH
}

/// An empty frame with the columns of a result.
pub(crate) fn empty(name: &str, schema: &SchemaRef) -> Frame {
    let fields =
        schema.fields().iter().map(|field| Field::new(field.name(), kind(field.data_type()))).collect();
    Frame { name: name.to_owned(), fields, rows: Vec::new() }
}

/// Rows appended at once, if they are small.
const AT_ONCE: usize = 1024;

/// Appends a batch's rows, up to `limit` in total and while the cells fit into `bytes`, which is
/// counted down. Returns `false` if they do not fit. A dictionary column with one long text is
/// small until its cells are expanded, so the cells are measured first.
pub(crate) fn append(
    frame: &mut Frame,
    batch: &RecordBatch,
    limit: usize,
    bytes: &mut usize,
) -> Result<bool, ArrowError> {
    let take = limit.saturating_sub(frame.rows.len()).min(batch.num_rows());
    let (mut from, mut size) = (0, AT_ONCE);
    while from < take {
        let part = batch.slice(from, size.min(take - from));
        let weight = part.columns().iter().map(weight).fold(0, usize::saturating_add);
        if weight > *bytes {
            if part.num_rows() == 1 {
                return Ok(false);
            }
            size = part.num_rows() / 2;
            continue;
        }
        *bytes -= weight;
        append_all(frame, &part)?;
        from += part.num_rows();
    }
    Ok(true)
}

/// The size of a column's cells after expansion.
fn weight(array: &ArrayRef) -> usize {
    let own = match array.data_type() {
        DataType::Utf8View => array.as_string_view().lengths().map(|length| length as usize).sum(),
        DataType::BinaryView => array.as_binary_view().lengths().map(|length| length as usize * 2).sum(),
        DataType::Dictionary(..) => {
            let dictionary = array.as_any_dictionary();
            let longest = longest(dictionary.values());
            dictionary.keys().len().saturating_mul(longest)
        }
        // Nested values are written as text, which is longer.
        other if other.is_nested() => array.get_array_memory_size().saturating_mul(4),
        _ => array.to_data().get_slice_memory_size().unwrap_or(usize::MAX),
    };
    own.saturating_add(array.len() * size_of::<Value>())
}

/// The longest text in a column of texts.
fn longest(array: &ArrayRef) -> usize {
    let texts = cast(array, &DataType::Utf8View);
    let texts = texts.as_ref().ok().map(|texts| texts.as_string_view().lengths().max().unwrap_or(0));
    texts.map_or(64, |length| length as usize)
}

fn append_all(frame: &mut Frame, batch: &RecordBatch) -> Result<(), ArrowError> {
    let take = batch.num_rows();
    let columns: Vec<Vec<Value>> = batch.columns().iter().map(cells).collect::<Result<_, _>>()?;
    let mut columns: Vec<_> = columns.into_iter().map(Vec::into_iter).collect();
    frame.rows.extend(
        (0..take).map(|_| columns.iter_mut().map(|column| column.next().unwrap_or_default()).collect()),
    );
    Ok(())
}

fn cells(array: &ArrayRef) -> Result<Vec<Value>, ArrowError> {
    let to = |wanted: DataType| {
        if *array.data_type() == wanted { Ok(array.clone()) } else { cast(array, &wanted) }
    };
    Ok(match kind(array.data_type()) {
        Kind::Boolean => {
            to(DataType::Boolean)?.as_boolean().iter().map(|b| b.map_or(Value::Null, Value::Bool)).collect()
        }
        Kind::Integer => to(DataType::Int64)?
            .as_primitive::<Int64Type>()
            .iter()
            .map(|n| n.map_or(Value::Null, Value::Int))
            .collect(),
        Kind::Number => to(DataType::Float64)?
            .as_primitive::<Float64Type>()
            .iter()
            .map(|n| n.filter(|n| !n.is_nan()).map_or(Value::Null, Value::Float))
            .collect(),
        Kind::Date => to(DataType::Date32)?
            .as_primitive::<Date32Type>()
            .iter()
            .map(|day| {
                day.and_then(|day| NaiveDate::from_num_days_from_ce_opt(day + EPOCH))
                    .map_or(Value::Null, Value::Date)
            })
            .collect(),
        Kind::Timestamp => to(DataType::Timestamp(TimeUnit::Microsecond, None))?
            .as_primitive::<TimestampMicrosecondType>()
            .iter()
            .map(|at| {
                at.and_then(DateTime::from_timestamp_micros)
                    .map_or(Value::Null, |at| Value::Time(at.naive_utc()))
            })
            .collect(),
        Kind::Text => match to(DataType::Utf8) {
            Ok(text) => text
                .as_string::<i32>()
                .iter()
                .map(|t| t.map_or(Value::Null, |t| Value::Text(t.to_owned())))
                .collect(),
            Err(_) => {
                let format = FormatOptions::default();
                let formatter = ArrayFormatter::try_new(array, &format)?;
                (0..array.len())
                    .map(|row| {
                        if array.is_null(row) {
                            Value::Null
                        } else {
                            Value::Text(formatter.value(row).to_string())
                        }
                    })
                    .collect()
            }
        },
    })
}
