//! The weight file: small tensors unchanged, matrices with four bits per number and a scale for
//! each 32.

use crate::Error;
use half::f16;
use safetensors::SafeTensors;

/// The file.
pub(crate) struct File(SafeTensors<'static>);

/// A quantized matrix. Rows are unpacked on demand.
pub(crate) struct Stored {
    /// Two numbers per byte, the lower half first.
    halves: &'static [u8],
    /// One 16-bit number for each 32.
    scales: &'static [u8],
    columns: usize,
}

/// Numbers that share a scale.
const SHARED: usize = 32;

impl File {
    pub(crate) fn open(bytes: &'static [u8]) -> Result<Self, Error> {
        SafeTensors::deserialize(bytes).map(Self).map_err(Error::bundled)
    }

    fn bytes(&self, name: &str) -> Result<&'static [u8], Error> {
        Ok(self.0.tensor(name).map_err(|problem| Error::Bundled(format!("{name}: {problem}")))?.data())
    }

    /// A tensor of unquantized numbers.
    pub(crate) fn numbers(&self, name: &str, count: usize) -> Result<Vec<f32>, Error> {
        let numbers: Vec<f32> =
            self.bytes(name)?.as_chunks().0.iter().map(|bytes| f32::from_le_bytes(*bytes)).collect();
        if numbers.len() == count {
            Ok(numbers)
        } else {
            Err(Error::Bundled(format!("{name} has {} numbers", numbers.len())))
        }
    }

    /// A matrix with this many rows and columns.
    pub(crate) fn stored(&self, name: &str, rows: usize, columns: usize) -> Result<Stored, Error> {
        let (halves, scales) = (self.bytes(&format!("{name}.q4"))?, self.bytes(&format!("{name}.scales"))?);
        let (packed, shared) = (rows * columns / 2, rows * columns / SHARED * 2);
        if halves.len() != packed || scales.len() != shared || !columns.is_multiple_of(SHARED) {
            return Err(Error::Bundled(format!("{name} is no matrix of {rows} rows and {columns} columns")));
        }
        Ok(Stored { halves, scales, columns })
    }
}

impl Stored {
    /// One row; none if it does not exist.
    pub(crate) fn row(&self, row: usize) -> Option<Vec<f32>> {
        let part = |bytes: &'static [u8], each: usize| bytes.get(row * each..(row + 1) * each);
        let halves = part(self.halves, self.columns / 2)?;
        let scales = part(self.scales, self.columns / SHARED * 2)?;
        let mut numbers = Vec::with_capacity(self.columns);
        for (halves, scale) in halves.as_chunks::<{ SHARED / 2 }>().0.iter().zip(scales.as_chunks().0) {
            let scale = f16::from_le_bytes(*scale).to_f32();
            let number = |half: u8| (f32::from(half) - 8.0) * scale;
            numbers.extend(halves.iter().flat_map(|both| [number(both & 15), number(both >> 4)]));
        }
        Some(numbers)
    }

    /// All rows, one after the other.
    pub(crate) fn all(&self) -> Vec<f32> {
        let rows = self.halves.len() * 2 / self.columns;
        (0..rows).filter_map(|row| self.row(row)).flatten().collect()
    }
}
