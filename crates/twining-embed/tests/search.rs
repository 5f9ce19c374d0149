//! Packed vectors and the matrix, against the plainest way to do the same.

use proptest::prelude::*;
use twining_embed::{DIMENSIONS, Matrix, PackedVector, Vector};
use twining_testcases::each;

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
        prop_assert!(naive(&vector, &packed) > 0.999);
        prop_assert_eq!(PackedVector::from_bytes(&packed.to_bytes()), Some(packed));
    }

    #[test]
    fn any_388_bytes_are_a_vector_or_refused(bytes in prop::collection::vec(any::<u8>(), 388), query in vector()) {
        if let Some(packed) = PackedVector::from_bytes(&bytes) {
            let mut matrix = Matrix::default();
            matrix.push(&packed);
            prop_assert!(!matrix.scores(&query)[0].is_nan());
            prop_assert_eq!(packed.to_bytes().to_vec(), bytes);
        }
    }

    #[test]
    fn the_matrix_scores_as_a_plain_sum_does(
        rows in prop::collection::vec(vector(), 0..40),
        query in vector(),
    ) {
        let mut matrix = Matrix::default();
        for (number, row) in rows.iter().enumerate() {
            prop_assert_eq!(matrix.push(&row.pack()), number);
        }
        let scores = matrix.scores(&query);
        prop_assert_eq!(scores.len(), rows.len());
        for (score, row) in scores.iter().zip(&rows) {
            let wanted = naive(&query, &row.pack());
            prop_assert!((score - wanted).abs() < 1e-4, "{} is not {}", score, wanted);
        }
    }
}

#[test]
fn a_vector_of_nothing_is_like_nothing() {
    each([[0.0; DIMENSIONS], [f32::NAN; DIMENSIONS], [f32::INFINITY; DIMENSIONS]], |numbers| {
        let none = Vector::normalised(numbers);
        assert_eq!(none.dot(&none), 0.0);
        assert_eq!(PackedVector::from_bytes(&none.pack().to_bytes()), Some(none.pack()));
    });
}
