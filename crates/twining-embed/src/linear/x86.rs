//! The tiles for x86-64: products of bytes where the processor has them, of 16-bit
//! pairs where it does not.
//!
//! Loads go through `bytemuck`, which turns arrays into registers safely.

use std::arch::x86_64::{
    __m128i, __m256i, __m512i, _mm256_add_epi32, _mm256_cvtepi8_epi16, _mm256_dpbusd_avx_epi32,
    _mm256_hadd_epi32, _mm256_madd_epi16, _mm256_permute4x64_epi64, _mm256_set1_epi32,
    _mm256_set1_epi64x, _mm256_setzero_si256, _mm512_dpbusd_epi32, _mm512_set1_epi32,
    _mm512_setzero_si512,
};

use super::{GROUP, QuantisedRows, STEP, finish};
use crate::model_file::{INNER, WIDTH};
use crate::weights::LinearWeights;

/// Panels side by side in one tile of the widest level: every map has a multiple of 64 outputs.
const WIDE: usize = 4;

/// The groups of a row's inputs. A constant of the tiles, so that all rows and panels
/// are reached from one address each, and no step checks a bound.
const NARROW_ROW: usize = WIDTH / GROUP;
const INNER_ROW: usize = INNER / GROUP;

#[target_feature(enable = "avx512f,avx512vnni")]
pub fn apply_avx512(map: LinearWeights<'_>, rows: &QuantisedRows, out: &mut [f32]) {
    if rows.width == INNER {
        avx512::<INNER_ROW>(map, rows, out);
    } else {
        avx512::<NARROW_ROW>(map, rows, out);
    }
}

#[target_feature(enable = "avx2,avxvnni")]
pub fn apply_avx_vnni(map: LinearWeights<'_>, rows: &QuantisedRows, out: &mut [f32]) {
    if rows.width == INNER {
        avx_vnni::<INNER_ROW>(map, rows, out);
    } else {
        avx_vnni::<NARROW_ROW>(map, rows, out);
    }
}

/// Without byte products both sides are widened to 16 bits.
#[target_feature(enable = "avx2")]
pub fn apply_avx2(map: LinearWeights<'_>, rows: &mut QuantisedRows, out: &mut [f32]) {
    rows.widen();
    if rows.width == INNER {
        avx2::<INNER_ROW>(map, rows, out);
    } else {
        avx2::<NARROW_ROW>(map, rows, out);
    }
}

#[target_feature(enable = "avx512f,avx512vnni")]
fn avx512<const GROUPS: usize>(map: LinearWeights<'_>, rows: &QuantisedRows, out: &mut [f32]) {
    const TILE: usize = 6;
    let tiles = tiles::<u8, GROUPS, TILE>(&rows.bytes, rows.count);
    for (quad, panels) in panels::<GROUPS>(map).as_chunks::<WIDE>().0.iter().enumerate() {
        for (tile, inputs) in tiles.iter().enumerate() {
            let mut sums = [[_mm512_setzero_si512(); WIDE]; TILE];
            for group in 0..GROUPS {
                let mut weights = [_mm512_setzero_si512(); WIDE];
                for panel in 0..WIDE {
                    weights[panel] = bytemuck::cast::<[i8; STEP], __m512i>(panels[panel][group]);
                }
                for row in 0..TILE {
                    let input = _mm512_set1_epi32(i32::from_le_bytes(inputs[row][group]));
                    for panel in 0..WIDE {
                        sums[row][panel] =
                            _mm512_dpbusd_epi32(sums[row][panel], input, weights[panel]);
                    }
                }
            }
            for (row, sums) in sums.into_iter().enumerate() {
                for (panel, sums) in sums.into_iter().enumerate() {
                    finish(
                        map,
                        rows,
                        tile * TILE + row,
                        quad * WIDE + panel,
                        bytemuck::cast(sums),
                        out,
                    );
                }
            }
        }
    }
}

#[target_feature(enable = "avx2,avxvnni")]
fn avx_vnni<const GROUPS: usize>(map: LinearWeights<'_>, rows: &QuantisedRows, out: &mut [f32]) {
    const TILE: usize = 6;
    let tiles = tiles::<u8, GROUPS, TILE>(&rows.bytes, rows.count);
    for (panel, weights) in panels::<GROUPS>(map).iter().enumerate() {
        for (tile, inputs) in tiles.iter().enumerate() {
            let mut sums = [[_mm256_setzero_si256(); 2]; TILE];
            for group in 0..GROUPS {
                let [low, high] = bytemuck::cast::<[i8; STEP], [__m256i; 2]>(weights[group]);
                for row in 0..TILE {
                    let input = _mm256_set1_epi32(i32::from_le_bytes(inputs[row][group]));
                    sums[row][0] = _mm256_dpbusd_avx_epi32(sums[row][0], input, low);
                    sums[row][1] = _mm256_dpbusd_avx_epi32(sums[row][1], input, high);
                }
            }
            for (row, sums) in sums.into_iter().enumerate() {
                finish(map, rows, tile * TILE + row, panel, bytemuck::cast(sums), out);
            }
        }
    }
}

/// Products are summed in pairs, so each output has two lanes until the end.
#[target_feature(enable = "avx2")]
fn avx2<const GROUPS: usize>(map: LinearWeights<'_>, rows: &QuantisedRows, out: &mut [f32]) {
    const TILE: usize = 2;
    let tiles = tiles::<i16, GROUPS, TILE>(&rows.widened, rows.count);
    for (panel, weights) in panels::<GROUPS>(map).iter().enumerate() {
        for (tile, inputs) in tiles.iter().enumerate() {
            let mut sums = [[_mm256_setzero_si256(); 4]; TILE];
            for group in 0..GROUPS {
                let quarters = bytemuck::cast::<[i8; STEP], [__m128i; 4]>(weights[group]);
                let mut input = [_mm256_setzero_si256(); TILE];
                for row in 0..TILE {
                    input[row] = _mm256_set1_epi64x(bytemuck::cast(inputs[row][group]));
                }
                for quarter in 0..4 {
                    let weights = _mm256_cvtepi8_epi16(quarters[quarter]);
                    for row in 0..TILE {
                        sums[row][quarter] = _mm256_add_epi32(
                            sums[row][quarter],
                            _mm256_madd_epi16(input[row], weights),
                        );
                    }
                }
            }
            for (row, [a, b, c, d]) in sums.into_iter().enumerate() {
                let low = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_hadd_epi32(a, b));
                let high = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_hadd_epi32(c, d));
                finish(map, rows, tile * TILE + row, panel, bytemuck::cast([low, high]), out);
            }
        }
    }
}

/// The rows, some at a time; the last tile may reach into rows that pad them.
#[inline(always)]
fn tiles<Input, const GROUPS: usize, const TILE: usize>(
    inputs: &[Input],
    rows: usize,
) -> &[[[[Input; GROUP]; GROUPS]; TILE]] {
    &inputs.as_chunks().0.as_chunks().0.as_chunks().0[..rows.div_ceil(TILE)]
}

#[inline(always)]
fn panels<const GROUPS: usize>(map: LinearWeights<'_>) -> &[[[i8; STEP]; GROUPS]] {
    map.panels.as_chunks().0.as_chunks().0
}
