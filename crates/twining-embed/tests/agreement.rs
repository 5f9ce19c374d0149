//! The vectors agree with those of the published float model, on texts of every kind.
#![cfg(feature = "weights")]
#![expect(clippy::print_stdout, reason = "the worst agreement is worth seeing with --nocapture")]

use twining_embed::{DIMENSIONS, Model, Vector};
use twining_testcases::each;

fn texts() -> Vec<String> {
    serde_json::from_str(include_str!("fixtures/texts.json"))
        .expect("the fixture is a list of texts")
}

fn references() -> Vec<Vector> {
    let numbers: Vec<f32> = include_bytes!("fixtures/vectors.i16")
        .chunks_exact(2)
        .map(|pair| f32::from(i16::from_le_bytes([pair[0], pair[1]])))
        .collect();
    numbers.as_chunks::<DIMENSIONS>().0.iter().map(|numbers| Vector::normalised(*numbers)).collect()
}

#[test]
fn every_text_points_where_the_float_model_points() {
    let model = Model::built_in().expect("the packed model is whole");
    let (texts, references) = (texts(), references());
    assert!(texts.len() >= 60 && texts.len() == references.len());
    let mut cosines: Vec<(f32, &str)> = texts
        .iter()
        .zip(&references)
        .map(|(text, reference)| (model.embed(text).dot(reference), text.as_str()))
        .collect();
    cosines.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mean = cosines.iter().map(|(cosine, _)| cosine).sum::<f32>() / cosines.len() as f32;
    println!("worst {:.5} ({:?}), mean {mean:.5}", cosines[0].0, cosines[0].1);
    assert!(cosines[0].0 >= 0.995, "{:?}", &cosines[..3]);
    assert!(mean >= 0.998, "{mean}");
}

#[test]
fn texts_are_cut_into_the_published_tokens() {
    let model = Model::built_in().expect("the packed model is whole");
    let tokens: Vec<Vec<u32>> = serde_json::from_str(include_str!("fixtures/tokens.json"))
        .expect("the fixture is a list of lists");
    each(texts().iter().zip(tokens), |(text, wanted)| {
        assert_eq!(model.tokens(text), wanted, "{text:?}");
    });
}
