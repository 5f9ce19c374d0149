//! Packed vectors and the matrix, against the plainest way to do the same.

use proptest::prelude::*;
use twining_embed::{DIMENSIONS, Matrix, PackedVector, Vector, VectorHit};

fn vector() -> impl Strategy<Value = Vector> {
    prop::collection::vec(-1.0_f32..1.0, DIMENSIONS)
        .prop_map(|numbers| Vector::normalised(std::array::from_fn(|at| numbers[at])))
}

fn naive(query: &Vector, packed: &PackedVector) -> f32 {
    let sum: f64 = query
        .as_slice()
        .iter()
        .zip(packed.numbers())
        .map(|(a, b)| f64::from(*a) * f64::from(*b))
        .sum();
    (sum * f64::from(packed.scale())) as f32
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn packing_keeps_the_direction_and_its_bytes_come_back(vector in vector()) {
        let packed = vector.pack();
        prop_assert!(packed.unpack().dot(&vector) > 0.9999);
        prop_assert_eq!(PackedVector::from_bytes(&packed.to_bytes()), Ok(packed));
    }

    #[test]
    fn any_388_bytes_are_a_vector_or_refused(bytes in prop::collection::vec(any::<u8>(), 388)) {
        if let Ok(packed) = PackedVector::from_bytes(&bytes) {
            let mut matrix = Matrix::new();
            matrix.push(&packed);
            prop_assert!(!matrix.scores(&packed.unpack())[0].is_nan());
            prop_assert_eq!(packed.to_bytes().to_vec(), bytes);
        }
    }

    #[test]
    fn the_matrix_finds_what_a_plain_search_finds(
        rows in prop::collection::vec((vector(), 0..4_u8), 0..40),
        query in vector(),
        most in 0..12_usize,
    ) {
        let mut matrix = Matrix::new();
        for (vector, _) in &rows {
            matrix.push(&vector.pack());
        }
        let mut wanted = Vec::new();
        for (row, (vector, fate)) in rows.iter().enumerate() {
            let mut packed = vector.pack();
            match fate {
                0 => prop_assert!(matrix.remove(row) && !matrix.remove(row)),
                1 => {
                    packed = query.pack();
                    prop_assert!(matrix.replace(row, &packed));
                }
                _ => {}
            }
            wanted.push(if *fate == 0 { f32::NEG_INFINITY } else { naive(&query, &packed) });
        }
        let scores = matrix.scores(&query);
        prop_assert_eq!(scores.len(), rows.len());
        for (score, wanted) in scores.iter().zip(&wanted) {
            prop_assert!(score == wanted || (score - wanted).abs() < 1e-4, "{} is not {}", score, wanted);
        }

        let even = |row: usize| row.is_multiple_of(2);
        let mut best: Vec<VectorHit> = scores.iter().enumerate().map(|(row, &score)| VectorHit { row, score }).collect();
        best.retain(|hit| even(hit.row) && hit.score > f32::NEG_INFINITY);
        best.sort_by(|a, b| b.score.total_cmp(&a.score).then(a.row.cmp(&b.row)));
        best.truncate(most);
        prop_assert_eq!(matrix.nearest(&query, most, even), best);
    }
}

#[test]
fn a_row_that_is_not_there_cannot_be_changed() {
    let mut matrix = Matrix::new();
    let packed = Vector::normalised([1.0; DIMENSIONS]).pack();
    assert!(!matrix.replace(0, &packed) && !matrix.remove(0) && matrix.is_empty());
    assert_eq!(matrix.push(&packed), 0);
    assert!(matrix.remove(0));
    assert!(matrix.nearest(&packed.unpack(), 5, |_| true).is_empty());
    assert!(matrix.replace(0, &packed));
    assert_eq!(matrix.nearest(&packed.unpack(), 5, |_| true).len(), 1);
    assert_eq!(matrix.push(&packed), 1, "numbers are not given twice");
}

#[test]
fn a_vector_of_nothing_is_like_nothing() {
    for numbers in [[0.0; DIMENSIONS], [f32::NAN; DIMENSIONS], [f32::INFINITY; DIMENSIONS]] {
        let none = Vector::normalised(numbers);
        assert_eq!(none.dot(&none), 0.0);
        assert_eq!(PackedVector::from_bytes(&none.pack().to_bytes()), Ok(none.pack()));
    }
}
