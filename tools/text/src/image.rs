//! The 64-bit perceptual hash of the Python package ImageHash 4.3.2 (`phash` with its defaults),
//! bit for bit.
//!
//! The steps are those of the package and of what it calls: the picture in grey, resampled to 32 by
//! 32 pixels as LANCZOS of Pillow 13 does it with 8 bits (in whole numbers, after coefficients in
//! floating point), the discrete cosine transform of type II of all columns and then all rows, and
//! of the 8 by 8 lowest coefficients those above their median.
//!
//! Pictures that are symmetric have coefficients that should be zero and are not quite, and their
//! median is such a one: there the last bit of each sum decides. So the transform does its
//! additions in the order in which scipy's does (that of FFTPACK: a real transform of length 32 by
//! factors 2, 4 and 4), with the same constants, and needs no others of the machine than IEEE 754
//! gives.

use crate::fingerprint::Fingerprint;
use crate::recipe::RecipeId;

/// What decides a perceptual hash, as a line; its id goes with the hashes.
pub const RECIPE: &str = "image/1 imagehash-phash version=4.3.2 bits=64 resize=pillow-lanczos";

/// The id of [`RECIPE`].
#[must_use]
pub fn recipe_id() -> RecipeId {
    RecipeId::of_line(RECIPE)
}

const SIDE: usize = 32;
const LOW: usize = 8;

/// The perceptual hash of a picture in grey, its rows from the top; `None` if there are no pixels,
/// or not `width * height`, or a side of more than 2^24.
///
/// The package takes a picture in grey by `convert('L')`; see [`grey_of_rgb`]. Bit 63 is the mean,
/// and nearly always one.
#[must_use]
pub fn perceptual_hash(width: usize, height: usize, grey: &[u8]) -> Option<Fingerprint> {
    let sides = 1..=1 << 24;
    if !sides.contains(&width)
        || !sides.contains(&height)
        || width.checked_mul(height) != Some(grey.len())
    {
        return None;
    }
    let small = shrink(grey, width, height);
    let columns: Vec<[f64; SIDE]> = (0..SIDE)
        .map(|x| cosine_transform(std::array::from_fn(|y| f64::from(small[y * SIDE + x]))))
        .collect();
    let mut low = [0.0; LOW * LOW];
    for y in 0..LOW {
        let row = cosine_transform(std::array::from_fn(|x| columns[x][y]));
        low[y * LOW..(y + 1) * LOW].copy_from_slice(&row[..LOW]);
    }
    let mut sorted = low;
    sorted.sort_unstable_by(f64::total_cmp);
    let median = (sorted[LOW * LOW / 2 - 1] + sorted[LOW * LOW / 2]) / 2.0;
    Some(Fingerprint::from(
        low.iter().fold(0u64, |bits, value| bits << 1 | u64::from(*value > median)),
    ))
}

/// The brightness of each pixel of red, green and blue, as Pillow's `convert('L')` has it.
#[must_use]
pub fn grey_of_rgb(rgb: &[[u8; 3]]) -> Vec<u8> {
    let grey = |[red, green, blue]: &[u8; 3]| {
        ((u32::from(*red) * 19_595
            + u32::from(*green) * 38_470
            + u32::from(*blue) * 7_471
            + 0x8000)
            >> 16) as u8
    };
    rgb.iter().map(grey).collect()
}

/// A picture of [`SIDE`] by [`SIDE`] pixels.
///
/// Both passes round to 8 bits, so that their order counts. Pillow begins with the height where
/// that shrinks more than twice as much as the width; the rule was found by comparing sizes from 4
/// to 500 with version 13.0.0.
fn shrink(grey: &[u8], width: usize, height: usize) -> Vec<u8> {
    if height.saturating_sub(SIDE) > 2 * width.saturating_sub(SIDE) {
        let low = resample(&transposed(grey, width), height);
        return resample(&transposed(&low, SIDE), width);
    }
    let narrow = resample(grey, width);
    transposed(&resample(&transposed(&narrow, SIDE), height), SIDE)
}

/// The rows of a picture as its columns.
fn transposed(pixels: &[u8], width: usize) -> Vec<u8> {
    let height = pixels.len() / width;
    (0..pixels.len()).map(|index| pixels[index % height * width + index / height]).collect()
}

/// Rows of `width` pixels, made [`SIDE`] pixels wide.
fn resample(pixels: &[u8], width: usize) -> Vec<u8> {
    const BITS: u32 = 22;
    if width == SIDE {
        return pixels.to_vec();
    }
    let windows = windows(width, f64::from(1 << BITS));
    let mut narrow = Vec::with_capacity(pixels.len() / width * SIDE);
    for row in pixels.chunks_exact(width) {
        narrow.extend(windows.iter().map(|(start, weights)| {
            let products = row[*start..]
                .iter()
                .zip(weights)
                .map(|(pixel, weight)| i32::from(*pixel).wrapping_mul(*weight));
            let sum = products.fold(1 << (BITS - 1), i32::wrapping_add);
            (sum >> BITS).clamp(0, 255) as u8
        }));
    }
    narrow
}

/// For each of the new pixels, where those begin of which it is made, and the weight of each in
/// units of `1 / one`.
fn windows(width: usize, one: f64) -> Vec<(usize, Vec<i32>)> {
    let scale = width as f64 / SIDE as f64;
    let stretch = scale.max(1.0);
    let (support, step) = (3.0 * stretch, 1.0 / stretch);
    let window = |index: usize| {
        let center = (index as f64 + 0.5) * scale;
        let start = (center - support + 0.5).max(0.0) as usize;
        let end = ((center + support + 0.5) as usize).min(width);
        let weights: Vec<f64> = (0..end - start)
            .map(|at| lanczos(((at + start) as f64 - center + 0.5) * step))
            .collect();
        let sum = weights.iter().fold(0.0, |sum, weight| sum + weight);
        let whole = |weight: &f64| {
            let share = if sum == 0.0 { *weight } else { *weight / sum };
            (share * one + if share < 0.0 { -0.5 } else { 0.5 }) as i32
        };
        (start, weights.iter().map(whole).collect())
    };
    (0..SIDE).map(window).collect()
}

fn lanczos(x: f64) -> f64 {
    let sinc = |x: f64| {
        let x = x * std::f64::consts::PI;
        if x == 0.0 { 1.0 } else { libm::sin(x) / x }
    };
    if (-3.0..3.0).contains(&x) { sinc(x) * sinc(x / 3.0) } else { 0.0 }
}

/// Cosines of k pi / 64 from k = 1 on, as scipy computes them.
#[rustfmt::skip]
const COSINES: [f64; 31] = [
    0.9987954562051724, 0.9951847266721969, 0.989176509964781, 0.9807852804032304, 0.970031253194544,
    0.9569403357322088, 0.9415440651830208, 0.9238795325112867, 0.9039892931234433, 0.881921264348355,
    0.8577286100002721, 0.8314696123025452, 0.8032075314806449, 0.773010453362737, 0.7409511253549591,
    0.7071067811865475, 0.6715589548470183, 0.6343932841636455, 0.5956993044924332, 0.5555702330196022,
    0.5141027441932217, 0.47139673682599753, 0.42755509343028203, 0.38268343236508967, 0.33688985339221994,
    0.2902846772544623, 0.24298017990326393, 0.19509032201612825, 0.14673047445536164, 0.09801714032956049,
    0.04906767432741799,
];

/// Cosine and sine of k pi / 16, as scipy computes them.
#[rustfmt::skip]
#[expect(clippy::approx_constant, reason = "they are what they are, to the last bit")]
const ROOTS: [(f64, f64); 8] = [
    (1.0, 0.0), (0.9807852804032304, 0.19509032201612825),
    (0.9238795325112867, 0.3826834323650898), (0.8314696123025452, 0.5555702330196022),
    (0.7071067811865475, 0.7071067811865476), (0.5555702330196022, 0.8314696123025452),
    (0.3826834323650898, 0.9238795325112867), (0.19509032201612825, 0.9807852804032304),
];

/// The transform: twice the sum of `values[n] cos(pi k (2 n + 1) / 64)` for each k.
fn cosine_transform(mut values: [f64; SIDE]) -> [f64; SIDE] {
    values[0] *= 2.0;
    values[SIDE - 1] *= 2.0;
    for pair in values[1..SIDE - 1].as_chunks_mut::<2>().0 {
        let [odd, even] = *pair;
        *pair = [even + odd, even - odd];
    }
    let mut values = quartered::<1, 8>(&quartered::<4, 2>(&halved(&values)));
    for k in 1..SIDE / 2 {
        let (low, high) = (values[k], values[SIDE - k]);
        let (near, far) = (COSINES[k - 1], COSINES[SIDE - k - 1]);
        let sum = near * high + far * low;
        let difference = near * low - far * high;
        values[k] = 0.5 * (sum + difference);
        values[SIDE - k] = 0.5 * (sum - difference);
    }
    values[SIDE / 2] *= COSINES[SIDE / 2 - 1];
    values
}

/// A complex number times a root of unity: imaginary part, then real part.
fn turned((cosine, sine): (f64, f64), real: f64, imaginary: f64) -> (f64, f64) {
    (cosine * imaginary + sine * real, cosine * real - sine * imaginary)
}

/// The first step of the inverse real transform: one of length 32 becomes two of length 16.
fn halved(from: &[f64; SIDE]) -> [f64; SIDE] {
    const HALF: usize = SIDE / 2;
    let mut to = [0.0; SIDE];
    to[0] = from[0] + from[SIDE - 1];
    to[HALF] = from[0] - from[SIDE - 1];
    to[HALF - 1] = 2.0 * from[HALF - 1];
    to[SIDE - 1] = -2.0 * from[HALF];
    for at in (2..HALF).step_by(2) {
        let mirror = SIDE - at;
        to[at - 1] = from[at - 1] + from[mirror - 1];
        to[at] = from[at] - from[mirror];
        let (real, imaginary) = (from[at - 1] - from[mirror - 1], from[at] + from[mirror]);
        (to[HALF + at], to[HALF + at - 1]) = turned(ROOTS[at / 2], real, imaginary);
    }
    to
}

/// A further step: each of `PARTS` transforms becomes four of length `LEN`, which is 1 or 4.
fn quartered<const LEN: usize, const PARTS: usize>(from: &[f64; SIDE]) -> [f64; SIDE] {
    let mut to = [0.0; SIDE];
    for part in 0..PARTS {
        let old = |quarter: usize, at: usize| from[at + LEN * (quarter + 4 * part)];
        let new = |quarter: usize, at: usize| at + LEN * (part + PARTS * quarter);
        let (sum, difference) = (old(0, 0) + old(3, LEN - 1), old(0, 0) - old(3, LEN - 1));
        let (one, two) = (2.0 * old(1, LEN - 1), 2.0 * old(2, 0));
        to[new(0, 0)] = sum + one;
        to[new(2, 0)] = sum - one;
        to[new(3, 0)] = difference + two;
        to[new(1, 0)] = difference - two;
        if LEN == 1 {
            continue;
        }
        let last = LEN - 1;
        let (imaginary, crossed) = (old(3, 0) + old(1, 0), old(3, 0) - old(1, 0));
        let (real, turned_back) = (old(0, last) + old(2, last), old(0, last) - old(2, last));
        to[new(0, last)] = real + real;
        to[new(1, last)] = std::f64::consts::SQRT_2 * (turned_back - imaginary);
        to[new(2, last)] = crossed + crossed;
        to[new(3, last)] = -std::f64::consts::SQRT_2 * (turned_back + imaginary);
        // The one pair between the ends: the real part at 1, the imaginary one at 2, mirrored in
        // every other quarter.
        let (a, b) = (old(0, 1) + old(3, 1), old(0, 1) - old(3, 1));
        let (c, d) = (old(0, 2) + old(3, 2), old(0, 2) - old(3, 2));
        let (e, f) = (old(2, 2) + old(1, 2), old(2, 2) - old(1, 2));
        let (g, h) = (old(2, 1) + old(1, 1), old(2, 1) - old(1, 1));
        to[new(0, 1)] = a + g;
        to[new(0, 2)] = d + f;
        let others = [(b - e, c + h), (a - g, d - f), (b + e, c - h)];
        for (quarter, (real, imaginary)) in (1..).zip(others) {
            let root = ROOTS[quarter * PARTS];
            (to[new(quarter, 2)], to[new(quarter, 1)]) = turned(root, real, imaginary);
        }
    }
    to
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pictures of which anyone can make the same: the generator of the expected hashes has the
    /// same formulas.
    fn picture(kind: &str, width: usize, height: usize, seed: u32) -> Vec<u8> {
        let mut state = seed;
        let mut noise = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 24) as u8
        };
        let (w, h, s) = (width as i64, height as i64, i64::from(seed));
        let mut pixel = |x: i64, y: i64| match kind {
            "flat" => s as u8,
            "noise" => noise(),
            "slope" => (x * 3 + y * 5 + s) as u8,
            "blocks" => (((x / 7 * 37 + y / 5 * 91 + s * 13) * 29) >> 2) as u8,
            "ring" => {
                let square = (2 * x - w + 1).pow(2) * h * h + (2 * y - h + 1).pow(2) * w * w;
                let (outer, inner) =
                    (w * w * h * h * (s % 7 + 3) / 10, w * w * h * h * (s % 3) / 10);
                if square < outer && square >= inner { (s * 7) as u8 } else { 255 }
            }
            kind => panic!("{kind}"),
        };
        (0..h).flat_map(|y| (0..w).map(move |x| (x, y))).map(|(x, y)| pixel(x, y)).collect()
    }

    #[test]
    fn pictures_get_what_the_package_gave_them() {
        let mut count = 0;
        for line in include_str!("../tests/data/imagehash-phash.tsv").lines() {
            let fields: Vec<&str> = line.split('\t').collect();
            let number = |index: usize| fields[index].parse::<usize>().unwrap();
            let (width, height) = (number(1), number(2));
            let grey = picture(fields[0], width, height, number(3) as u32);
            assert_eq!(
                perceptual_hash(width, height, &grey).unwrap().to_string(),
                fields[4],
                "{line}"
            );
            count += 1;
        }
        assert!(count > 500);
    }

    #[test]
    fn other_sizes_are_refused() {
        assert_eq!(perceptual_hash(0, 0, &[]), None);
        assert_eq!(perceptual_hash(2, 2, &[0; 3]), None);
        assert_eq!(perceptual_hash(usize::MAX, 2, &[0; 2]), None);
        assert!(perceptual_hash(1, 1, &[9]).is_some());
    }

    #[test]
    fn colours_become_grey() {
        assert_eq!(
            grey_of_rgb(&[[255, 255, 255], [255, 0, 0], [0, 255, 0], [0, 0, 255], [1, 2, 3]]),
            [255, 76, 150, 29, 2]
        );
    }
}
