//! The network: word and position embeddings, three transformer layers, and mean pooling.

use crate::product::{Linear, add_times, exp, gelu};
use crate::tokenizer::Tokenizer;
use crate::weights::{File, Stored};
use crate::{Error, WIDTH};
use pulp::{Arch, Simd, WithSimd};

const WORDS: usize = 30_522;
const PLACES: usize = 512;
const KINDS: usize = 2;
const LAYERS: usize = 3;
const HEADS: usize = 12;
/// Dimensions of an attention head.
const HEAD: usize = WIDTH / HEADS;
/// Dimensions of the feed-forward layer.
const MIDDLE: usize = 1536;
/// Maximum number of tokens, including the start and end tokens.
const TOKENS: usize = 128;
/// Number of partial sums when a row is added up.
const LANES: usize = 32;

/// The bundled network.
pub(crate) struct Network {
    arch: Arch,
    tokenizer: Tokenizer,
    words: Stored,
    /// The position embeddings.
    places: Vec<[f32; WIDTH]>,
    norm: Norm,
    layers: Vec<Layer>,
}

struct Layer {
    /// Queries, keys and values in one product.
    looking: Linear,
    looked: Linear,
    looked_norm: Norm,
    wider: Linear,
    narrower: Linear,
    norm: Norm,
}

/// Layer normalisation: mean 0 and variance 1, then scale and shift.
struct Norm {
    scale: Vec<f32>,
    shift: Vec<f32>,
}

impl Network {
    pub(crate) fn load() -> Result<Self, Error> {
        let file = File::open(include_bytes!("../assets/model.safetensors"))?;
        let words = file.stored("embeddings.word_embeddings.weight", WORDS, WIDTH)?;
        let kind = file.stored("embeddings.token_type_embeddings.weight", KINDS, WIDTH)?.row(0);
        let places = file.stored("embeddings.position_embeddings.weight", PLACES, WIDTH)?;
        let places = (0..TOKENS).filter_map(|place| {
            let mut row = [0.0; WIDTH];
            for ((sum, place), kind) in row.iter_mut().zip(places.row(place)?).zip(kind.as_ref()?) {
                *sum = place + kind;
            }
            Some(row)
        });
        let tokenizer = Tokenizer::new(include_str!("../assets/vocabulary.txt"));
        if tokenizer.len() != WORDS {
            return Err(Error::Bundled(format!("the vocabulary has {} pieces", tokenizer.len())));
        }
        Ok(Self {
            arch: Arch::new(),
            tokenizer,
            words,
            places: places.collect(),
            norm: Norm::load(&file, "embeddings.LayerNorm")?,
            layers: (0..LAYERS).map(|number| Layer::load(&file, number)).collect::<Result<_, _>>()?,
        })
    }

    pub(crate) fn embed(&self, text: &str) -> Result<Vec<f32>, Error> {
        let ids = self.tokenizer.encode(text, TOKENS);
        let mut rows = Vec::with_capacity(ids.len() * WIDTH);
        for (id, place) in ids.into_iter().zip(&self.places) {
            let word = usize::try_from(id).ok().and_then(|id| self.words.row(id));
            let word = word.ok_or_else(|| Error::Bundled(format!("there is no word {id}")))?;
            rows.extend(word.iter().zip(place).map(|(word, place)| word + place));
        }
        self.norm.apply(self.arch, &mut rows);
        for layer in &self.layers {
            layer.apply(self.arch, &mut rows);
        }
        let mut middle = vec![0.0_f64; WIDTH];
        for row in rows.chunks_exact(WIDTH) {
            middle.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*value));
        }
        let length = middle.iter().map(|value| value * value).sum::<f64>().sqrt();
        if !length.is_finite() || length <= 0.0 {
            return Err(Error::Bundled("a vector without a length".into()));
        }
        Ok(middle.into_iter().map(|value| (value / length) as f32).collect())
    }
}

impl Norm {
    fn load(file: &File, name: &str) -> Result<Self, Error> {
        let part = |part: &str| file.numbers(&format!("{name}.{part}"), WIDTH);
        Ok(Self { scale: part("weight")?, shift: part("bias")? })
    }

    fn apply(&self, arch: Arch, rows: &mut [f32]) {
        arch.dispatch(|| {
            for row in rows.chunks_exact_mut(WIDTH) {
                let (mut sums, mut squares) = ([0.0_f32; LANES], [0.0_f32; LANES]);
                for part in row.as_chunks::<LANES>().0 {
                    for ((sum, square), value) in sums.iter_mut().zip(&mut squares).zip(part) {
                        *sum += value;
                        *square += value * value;
                    }
                }
                let mean = sums.iter().sum::<f32>() / WIDTH as f32;
                let variance = squares.iter().sum::<f32>() / WIDTH as f32 - mean * mean;
                let by = (variance + 1e-12).sqrt().recip();
                for ((value, scale), shift) in row.iter_mut().zip(&self.scale).zip(&self.shift) {
                    *value = (*value - mean) * by * scale + shift;
                }
            }
        });
    }
}

impl Layer {
    fn load(file: &File, number: usize) -> Result<Self, Error> {
        let part = |part: &str| format!("encoder.layer.{number}.{part}");
        let stored = |name: &str, outputs: usize, inputs: usize| {
            let weights = file.stored(&format!("{name}.weight"), outputs, inputs)?.all();
            Ok::<_, Error>((weights, file.numbers(&format!("{name}.bias"), outputs)?))
        };
        let linear = |weights: &[f32], bias| {
            Linear::new(weights, bias).ok_or_else(|| Error::bundled("a layer of another shape"))
        };
        let one = |name: &str, outputs: usize, inputs: usize| {
            let (weights, bias) = stored(&part(name), outputs, inputs)?;
            linear(&weights, bias)
        };
        let (mut weights, mut bias) = (Vec::new(), Vec::new());
        for name in ["query", "key", "value"] {
            let found = stored(&part(&format!("attention.self.{name}")), WIDTH, WIDTH)?;
            weights.extend(found.0);
            bias.extend(found.1);
        }
        Ok(Self {
            looking: linear(&weights, bias)?,
            looked: one("attention.output.dense", WIDTH, WIDTH)?,
            looked_norm: Norm::load(file, &part("attention.output.LayerNorm"))?,
            wider: one("intermediate.dense", MIDDLE, WIDTH)?,
            narrower: one("output.dense", WIDTH, MIDDLE)?,
            norm: Norm::load(file, &part("output.LayerNorm"))?,
        })
    }

    fn apply(&self, arch: Arch, rows: &mut Vec<f32>) {
        let looking = self.looking.of(rows, arch);
        let mut context = vec![0.0; rows.len()];
        arch.dispatch(Look { looking: &looking, context: &mut context });
        let mut looked = self.looked.of(&context, arch);
        add(&mut looked, rows);
        self.looked_norm.apply(arch, &mut looked);
        let mut wide = self.wider.of(&looked, arch);
        arch.dispatch(|| wide.iter_mut().for_each(|value| *value = gelu(*value)));
        *rows = self.narrower.of(&wide, arch);
        add(rows, &looked);
        self.norm.apply(arch, rows);
    }
}

fn add(to: &mut [f32], from: &[f32]) {
    to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
}

/// Self-attention.
struct Look<'a> {
    /// For each token its queries, its keys and its values.
    looking: &'a [f32],
    context: &'a mut [f32],
}

impl WithSimd for Look<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let tokens = self.context.len() / WIDTH;
        let root = (HEAD as f32).sqrt().recip();
        let (mut keys, mut shares) = (vec![0.0; HEAD * tokens], vec![0.0; tokens]);
        let at = |row: &'_ [f32], from: usize| {
            row.get(from..from + HEAD).and_then(<[f32]>::first_chunk::<HEAD>).copied()
        };
        for head in 0..HEADS {
            let place = head * HEAD;
            // Transposed keys: the first number of all tokens, then the second.
            for (token, row) in self.looking.chunks_exact(3 * WIDTH).enumerate() {
                let key = at(row, WIDTH + place).unwrap_or([0.0; HEAD]);
                for (keys, value) in keys.chunks_exact_mut(tokens).zip(key) {
                    if let Some(place) = keys.get_mut(token) {
                        *place = value;
                    }
                }
            }
            for (row, context) in
                self.looking.chunks_exact(3 * WIDTH).zip(self.context.chunks_exact_mut(WIDTH))
            {
                let query = at(row, place).unwrap_or([0.0; HEAD]);
                shares.fill(0.0);
                for (keys, value) in keys.chunks_exact(tokens).zip(query) {
                    add_times(simd, &mut shares, value * root, keys);
                }
                let most = shares.iter().copied().fold(f32::NEG_INFINITY, f32::max);
                shares.iter_mut().for_each(|share| *share = exp(*share - most));
                let all = shares.iter().sum::<f32>().recip();
                let mut sum = [0.0; HEAD];
                for (share, row) in shares.iter().zip(self.looking.chunks_exact(3 * WIDTH)) {
                    let values = at(row, 2 * WIDTH + place).unwrap_or([0.0; HEAD]);
                    add_times(simd, &mut sum, share * all, &values);
                }
                if let Some(context) = context.get_mut(place..place + HEAD) {
                    context.copy_from_slice(&sum);
                }
            }
        }
    }
}
