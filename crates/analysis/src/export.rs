//! Export of results: Parquet here, workbooks in `report`.

use crate::engine::convert;
use crate::error::{Error, Result};
use crate::frame::Frame;
use datafusion::parquet::arrow::ArrowWriter;

/// A frame as a Parquet file with its types.
pub fn parquet(frame: &Frame) -> Result<Vec<u8>> {
    let failed = |detail: String| Error::Export { detail };
    let batch = convert::to_batch(frame).map_err(|error| failed(error.to_string()))?;
    let mut bytes = Vec::new();
    let mut writer =
        ArrowWriter::try_new(&mut bytes, batch.schema(), None).map_err(|error| failed(error.to_string()))?;
    writer.write(&batch).map_err(|error| failed(error.to_string()))?;
    writer.close().map_err(|error| failed(error.to_string()))?;
    Ok(bytes)
}
