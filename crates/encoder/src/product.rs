//! Matrix products with weights in a prepared layout, and the activation functions.
//!
//! Everything here is plain arithmetic on slices. It is compiled once for each kind of processor
//! (`pulp` detects it at run time), so the loops below use the widest SIMD instructions available.

use pulp::{Arch, Simd, WithSimd};

/// Columns computed at once: two registers of AVX-512, four of AVX2.
pub(crate) const COLUMNS: usize = 32;
/// Rows computed at once, for registers of 16 numbers and of fewer.
const MANY: usize = 12;
const FEW: usize = 3;

/// One weight of each of [`COLUMNS`] columns, in whole cache lines.
#[derive(Clone)]
#[repr(align(64))]
struct Strip([f32; COLUMNS]);

/// A linear layer: `output = input * weights + bias`.
pub(crate) struct Linear {
    /// Length of an input row.
    inputs: usize,
    /// All inputs of the first [`COLUMNS`] columns, then of the next.
    strips: Vec<Strip>,
    bias: Vec<f32>,
}

impl Linear {
    /// From weights in storage order: for each output its inputs, one output after the other.
    pub(crate) fn new(weights: &[f32], bias: Vec<f32>) -> Option<Self> {
        let outputs = bias.len();
        let inputs = weights.len().checked_div(outputs)?;
        if inputs == 0 || inputs * outputs != weights.len() || !outputs.is_multiple_of(COLUMNS) {
            return None;
        }
        let mut strips = Vec::with_capacity(inputs * outputs / COLUMNS);
        for columns in weights.chunks_exact(inputs * COLUMNS) {
            let first = strips.len();
            strips.resize(first + inputs, Strip([0.0; COLUMNS]));
            let panel = strips.get_mut(first..)?;
            for (column, weights) in columns.chunks_exact(inputs).enumerate() {
                for (strip, weight) in panel.iter_mut().zip(weights) {
                    *strip.0.get_mut(column)? = *weight;
                }
            }
        }
        Some(Self { inputs, strips, bias })
    }

    /// Length of an output row.
    pub(crate) fn outputs(&self) -> usize {
        self.bias.len()
    }

    /// The layer's output for rows of its input.
    pub(crate) fn of(&self, input: &[f32], arch: Arch) -> Vec<f32> {
        let mut output = vec![0.0; input.len() / self.inputs * self.outputs()];
        arch.dispatch(Product { layer: self, input, output: &mut output });
        output
    }
}

struct Product<'a> {
    layer: &'a Linear,
    input: &'a [f32],
    output: &'a mut [f32],
}

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match size_of::<S::f32s>() / size_of::<f32>() {
            16 => self.in_blocks::<S, MANY, 2>(simd),
            8 => self.in_blocks::<S, FEW, 4>(simd),
            4 => self.in_blocks::<S, FEW, 8>(simd),
            _ => self.in_blocks::<S, 1, COLUMNS>(simd),
        }
    }
}

impl Product<'_> {
    /// Each panel of weights is read once and multiplied with all rows while it is in the cache.
    #[inline(always)]
    fn in_blocks<S: Simd, const ROWS: usize, const REGISTERS: usize>(self, simd: S) {
        let Self { layer, input, output } = self;
        let (inputs, outputs) = (layer.inputs, layer.outputs());
        let blocks: Vec<Vec<[f32; ROWS]>> =
            input.chunks(inputs * ROWS).map(|rows| side_by_side(rows, inputs)).collect();
        let panels = layer.strips.chunks_exact(inputs).zip(layer.bias.chunks_exact(COLUMNS));
        for (panel, (strips, bias)) in panels.enumerate() {
            let rows = output.chunks_mut(outputs * ROWS);
            for (block, rows) in blocks.iter().zip(rows) {
                let sums = block_times_panel::<S, ROWS, REGISTERS>(simd, block, strips, bias);
                for (row, sums) in rows.chunks_exact_mut(outputs).zip(&sums) {
                    let columns = row.get_mut(panel * COLUMNS..).unwrap_or_default();
                    for (columns, sum) in S::as_mut_simd_f32s(columns).0.iter_mut().zip(sums) {
                        *columns = *sum;
                    }
                }
            }
        }
    }
}

/// Transposed rows, so that the numbers of one column are adjacent; missing rows are zero.
#[inline(always)]
fn side_by_side<const ROWS: usize>(rows: &[f32], inputs: usize) -> Vec<[f32; ROWS]> {
    let mut turned = vec![[0.0; ROWS]; inputs];
    for (number, row) in rows.chunks_exact(inputs).enumerate() {
        for (column, value) in turned.iter_mut().zip(row) {
            if let Some(place) = column.get_mut(number) {
                *place = *value;
            }
        }
    }
    turned
}

/// The sums stay in registers for the whole length of the input.
#[inline(always)]
fn block_times_panel<S: Simd, const ROWS: usize, const REGISTERS: usize>(
    simd: S,
    block: &[[f32; ROWS]],
    strips: &[Strip],
    bias: &[f32],
) -> [[S::f32s; REGISTERS]; ROWS] {
    let mut first = [simd.splat_f32s(0.0); REGISTERS];
    for (sum, bias) in first.iter_mut().zip(S::as_simd_f32s(bias).0) {
        *sum = *bias;
    }
    let mut sums = [first; ROWS];
    for (values, strip) in block.iter().zip(strips) {
        let weights = S::as_simd_f32s(&strip.0).0;
        let Some(weights) = weights.first_chunk::<REGISTERS>() else { continue };
        for (sums, value) in sums.iter_mut().zip(values) {
            let value = simd.splat_f32s(*value);
            for (sum, weight) in sums.iter_mut().zip(weights) {
                *sum = simd.mul_add_e_f32s(value, *weight, *sum);
            }
        }
    }
    sums
}

/// Adds `factor` times the numbers of `from` to those of `to`.
#[inline(always)]
pub(crate) fn add_times<S: Simd>(simd: S, to: &mut [f32], factor: f32, from: &[f32]) {
    let by = simd.splat_f32s(factor);
    let ((to, rest), (from, more)) = (S::as_mut_simd_f32s(to), S::as_simd_f32s(from));
    for (to, from) in to.iter_mut().zip(from) {
        *to = simd.mul_add_e_f32s(by, *from, *to);
    }
    for (to, from) in rest.iter_mut().zip(more) {
        *to += factor * from;
    }
}

/// e to the power of x, to seven digits. Results below the smallest number are clamped to it.
#[inline(always)]
pub(crate) fn exp(x: f32) -> f32 {
    // 2^(x/ln 2): the integer part through the bits of the exponent, the rest by a polynomial of
    // e^r around 0.
    const SHIFT: f32 = 12_582_912.0;
    let x = x.clamp(-87.0, 88.0);
    let shifted = x * std::f32::consts::LOG2_E + SHIFT;
    let whole = shifted - SHIFT;
    let rest = x - whole * 0.693_359_4 + whole * 2.121_944_4e-4;
    let curve = 1.987_569_1e-4;
    let curve = curve * rest + 1.398_2e-3;
    let curve = curve * rest + 8.333_452e-3;
    let curve = curve * rest + 4.166_579_6e-2;
    let curve = curve * rest + 1.666_666_5e-1;
    let curve = curve * rest + 0.5;
    let curve = curve * rest * rest + rest + 1.0;
    // The low bits of the shifted number are the integer part.
    let exponent = shifted.to_bits().wrapping_sub(SHIFT.to_bits()).wrapping_add(127) << 23;
    curve * f32::from_bits(exponent)
}

/// GELU, the activation function of the feed-forward layer.
#[inline(always)]
pub(crate) fn gelu(x: f32) -> f32 {
    0.5 * x * (1.0 + erf(x * std::f32::consts::FRAC_1_SQRT_2))
}

/// The error function to 2e-7 (Abramowitz and Stegun 7.1.26).
#[inline(always)]
fn erf(x: f32) -> f32 {
    let size = x.abs();
    let t = 1.0 / (1.0 + 0.327_591_1 * size);
    let curve =
        ((((1.061_405_4 * t - 1.453_152) * t + 1.421_413_8) * t - 0.284_496_72) * t + 0.254_829_6) * t;
    (1.0 - curve * exp(-size * size)).copysign(x)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reproducible pseudo-random numbers.
    fn numbers(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / 8_388_608.0 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    #[test]
    fn a_layer_is_the_sum_of_its_products() {
        for rows in [1, 2, 3, 11, 12, 13, 25] {
            let (inputs, outputs) = (70, 64);
            let (input, weights, bias) =
                (numbers(rows * inputs, 1), numbers(inputs * outputs, 2), numbers(outputs, 3));
            let output = Linear::new(&weights, bias.clone()).unwrap().of(&input, Arch::new());
            assert_eq!(output.len(), rows * outputs);
            for (row, output) in input.chunks(inputs).zip(output.chunks(outputs)) {
                for ((column, bias), found) in weights.chunks(inputs).zip(&bias).zip(output) {
                    let exact: f64 = row.iter().zip(column).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
                    assert!((exact + f64::from(*bias) - f64::from(*found)).abs() < 1e-4);
                }
            }
        }
    }

    #[test]
    fn weights_of_another_shape_are_refused() {
        assert!(Linear::new(&[0.0; 64], vec![0.0; 3]).is_none());
        assert!(Linear::new(&[0.0; 65], vec![0.0; 32]).is_none());
        assert!(Linear::new(&[], vec![]).is_none());
    }

    #[test]
    fn curves_are_near_the_exact_ones() {
        for step in -8_000_i16..=8_000 {
            let x = f32::from(step) / 1_000.0;
            let exact = f64::from(x).exp();
            assert!((f64::from(exp(x)) / exact - 1.0).abs() < 1e-6, "exp({x})");
        }
        // From a table of the error function.
        for (x, exact) in
            [(0.0, 0.0), (0.1, 0.112_462_916), (0.5, 0.520_499_9), (1.0, 0.842_700_8), (2.0, 0.995_322_3)]
        {
            assert!((erf(x) - exact).abs() < 5e-7 && (erf(-x) + exact).abs() < 5e-7, "erf({x})");
        }
        assert_eq!(exp(-1e9), exp(-87.0));
        assert!((gelu(-30.0)).abs() < 1e-6 && (gelu(30.0) - 30.0).abs() < 1e-5);
    }
}
