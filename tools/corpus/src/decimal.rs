//! Decimal numbers in order, without rounding: ids of 128 bits, nanoseconds and prices compare as
//! the digits that the file has, which a float of 64 bits would change.

/// So many digits are compared, from the first that is not 0 on. 10^34 is less than 2^113.
const DIGITS: usize = 34;
/// The greatest power of ten of the first digit, and minus the least one.
const POWER: i64 = 8000;
/// The key of zero; those of negative numbers are below it.
const ZERO: u128 = 1 << 127;
/// The magnitude of infinity, above all others. `u128::MAX` stays free.
const INFINITE: u128 = ZERO - 2;

/// A key that orders as the number in a text does; `None` where that is no number, or one that no
/// key has exactly.
///
/// Digits may have a sign, a point and an exponent; `inf` and `-inf` are numbers as well.
pub fn key(text: &str) -> Option<u128> {
    let (negative, unsigned) = match text.as_bytes() {
        [b'-', ..] => (true, &text[1..]),
        [b'+', ..] => (false, &text[1..]),
        _ => (false, text),
    };
    let is_infinite = ["inf", "infinity"].iter().any(|name| unsigned.eq_ignore_ascii_case(name));
    let magnitude = if is_infinite { INFINITE } else { magnitude(unsigned)? };
    Some(if negative { ZERO - magnitude } else { ZERO + magnitude })
}

/// The power of ten of the first digit above the first digits.
fn magnitude(text: &str) -> Option<u128> {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = || whole.bytes().chain(fraction.bytes());
    if digits().next().is_none() || !digits().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let Some(first) = digits().position(|digit| digit != b'0') else { return Some(0) };
    let mut significant = digits().skip(first);
    let mut value = 0;
    for _ in 0..DIGITS {
        value = 10 * value + u128::from(significant.next().unwrap_or(b'0') - b'0');
    }
    if significant.any(|digit| digit != b'0') {
        return None;
    }
    let power = (whole.len() as i64 - first as i64).checked_add(exponent)?;
    let biased = u128::try_from(power.checked_add(POWER)?).ok()?;
    (biased <= 2 * POWER as u128).then_some(biased << 113 | value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_order_as_the_numbers_do() {
        let ascending = [
            "-inf",
            "-3402823669209384634633746074317682.0e5",
            "-18446744073709551616",
            "-18446744073709551615",
            "-9007199254740993",
            "-9007199254740992",
            "-10",
            "-9.5",
            "-1e-300",
            "0",
            "4e-324",
            "0.001",
            "0.0010000000000000000000000001",
            "1",
            "1.0000000000000000000000000000001",
            "2",
            "17",
            "9007199254740992",
            "9007199254740993",
            "1700000000000000001",
            "1700000000000000100",
            "18446744073709551614",
            "18446744073709551615",
            "1.7976931348623157e308",
            "infinity",
        ];
        for (place, a) in ascending.iter().enumerate() {
            for (other, b) in ascending.iter().enumerate() {
                assert_eq!(key(a).cmp(&key(b)), place.cmp(&other), "{a} {b}");
            }
        }
    }

    #[test]
    fn one_number_has_one_key() {
        for (a, b) in
            [("7", "7.000"), ("0", "-0.0"), ("1e3", "1000"), ("+.5", "5E-1"), ("07", "7.")]
        {
            assert!(key(a).is_some() && key(a) == key(b), "{a} {b}");
        }
    }

    #[test]
    fn what_has_no_key_is_refused() {
        for text in
            ["", "-", ".", "e5", "nan", "NaN", "1,5", "0x10", "1e", "--1", "1e99999", "1_000"]
        {
            assert_eq!(key(text), None, "{text}");
        }
        // Two numbers of 36 digits that differ in the last one only.
        assert_eq!(key("100000000000000000000000000000000001"), None);
        assert!(key("100000000000000000000000000000000000").is_some());
    }
}
