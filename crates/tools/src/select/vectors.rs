//! Embeddings as small integers in one flat array, compared with a request in one pass.
//!
//! Invariant: every vector has the same width and length 1, so that a dot product is a cosine.
//! Rounding to a byte changes a cosine by less than 0.01 and saves three quarters of the memory to
//! read.

use crate::{Error, Result};
use std::sync::Arc;

/// Embeds texts as vectors whose cosine is the similarity in meaning.
pub trait Embed: Send + Sync {
    /// One vector per text, in order.
    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>>;

    /// Announces texts of definitions before they are embedded, so that they can be batched and
    /// cached.
    fn prepare(&self, _texts: &[&str]) {}
}

impl Embed for steward_language::Encoder {
    fn prepare(&self, texts: &[&str]) {
        let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
        steward_language::Encoder::prepare(self, &texts);
    }

    fn embed(&self, texts: &[&str]) -> Result<Vec<Vec<f32>>> {
        let vector = |text: &&str| steward_language::Encoder::embed(self, text).map(|vector| vector.to_vec());
        let vectors: Option<Vec<_>> = texts.iter().map(vector).collect();
        vectors.ok_or_else(|| Error::Bug { detail: "the bundled encoder's weights cannot be loaded".into() })
    }
}

/// A quantized vector of length 1, with its step size.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Packed {
    step: f32,
    numbers: Arc<[i8]>,
}

/// Quantizes a vector to bytes.
pub(super) fn pack(vector: &[f32]) -> Packed {
    let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt().max(f32::MIN_POSITIVE);
    let largest = vector.iter().fold(0.0_f32, |most, x| most.max(x.abs())).max(f32::MIN_POSITIVE);
    let numbers = vector.iter().map(|x| (x / largest * LARGEST).round() as i8).collect();
    Packed { step: largest / length / LARGEST, numbers }
}

/// The cosine of two packed vectors.
pub(super) fn cosine(a: &Packed, b: &Packed) -> f32 {
    let wide: Vec<i16> = a.numbers.iter().map(|x| i16::from(*x)).collect();
    product(&wide, &b.numbers) as f32 * a.step * b.step
}

/// The largest number of a packed vector, and how many numbers are summed before the sum is
/// widened: each of the 16 lanes takes 8 products of at most 63 × 63, which fits a 16-bit sum. The
/// compiler vectorizes it.
const LARGEST: f32 = 63.0;
const BLOCK: usize = 128;

fn product(a: &[i16], b: &[i8]) -> i32 {
    let mut total = 0;
    for (a, b) in a.chunks(BLOCK).zip(b.chunks(BLOCK)) {
        let mut lanes = [0_i16; 16];
        let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<16>(), b.as_chunks::<16>());
        for (a, b) in a.iter().zip(b) {
            for ((lane, x), y) in lanes.iter_mut().zip(a).zip(b) {
                *lane = lane.wrapping_add(x.wrapping_mul(i16::from(*y)));
            }
        }
        total += lanes.iter().map(|lane| i32::from(*lane)).sum::<i32>();
        total += a_rest.iter().zip(b_rest).map(|(x, y)| i32::from(*x) * i32::from(*y)).sum::<i32>();
    }
    total
}

/// All vectors of the first comparison, each with its tool.
#[derive(Debug, Default)]
pub(super) struct Flat {
    width: usize,
    numbers: Vec<i8>,
    tools: Vec<(u32, f32)>,
}

impl Flat {
    /// Appends a vector.
    pub(super) fn push(&mut self, tool: u32, vector: &Packed) {
        if self.tools.is_empty() {
            self.width = vector.numbers.len();
        }
        if vector.numbers.len() == self.width && self.width > 0 {
            self.numbers.extend_from_slice(&vector.numbers);
            self.tools.push((tool, vector.step));
        }
    }

    /// Writes the best cosine of each tool to `best`.
    pub(super) fn nearest(&self, request: &Packed, best: &mut [f32]) {
        if request.numbers.len() != self.width || self.width == 0 {
            return;
        }
        let wide: Vec<i16> = request.numbers.iter().map(|x| i16::from(*x)).collect();
        for ((tool, step), vector) in self.tools.iter().zip(self.numbers.chunks_exact(self.width)) {
            if let Some(best) = best.get_mut(*tool as usize) {
                *best = best.max(product(&wide, vector) as f32 * request.step * step);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantization_error_is_below_one_hundredth() {
        // Widths that do and do not fill the blocks, with numbers at their maximum.
        for width in [1_usize, 15, 64, 130, 384] {
            let one: Vec<f32> = (0..width).map(|at| ((at * 37 % 101) as f32 - 50.0) / 50.0).collect();
            let two: Vec<f32> = (0..width).map(|at| ((at * 53 % 89) as f32 - 20.0) / 50.0).collect();
            let largest = vec![-1.0_f32; width];
            for (a, b) in [(&one, &two), (&one, &one), (&largest, &largest), (&largest, &two)] {
                let exact = steward_language::cosine(a, b);
                assert!((cosine(&pack(a), &pack(b)) - exact).abs() < 0.01, "{width}: {exact}");
            }
        }
    }
}
