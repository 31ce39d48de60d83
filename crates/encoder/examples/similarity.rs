//! Cosine similarity of pairs of texts: `similarity A B [A B]...`.
#![allow(clippy::unwrap_used, reason = "a development program")]
fn main() {
    let encoder = steward_encoder::Encoder::load().unwrap();
    let words: Vec<String> = std::env::args().skip(1).collect();
    for pair in words.chunks_exact(2) {
        let vectors: Vec<Vec<f32>> = pair.iter().map(|text| encoder.embed(text).unwrap()).collect();
        let dot: f32 = vectors
            .first()
            .zip(vectors.last())
            .map_or(0.0, |(a, b)| a.iter().zip(b).map(|(a, b)| a * b).sum());
        println!("{dot:.3} {pair:?}");
    }
}
