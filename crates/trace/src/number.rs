//! Numbers and times as traces write them, read from bytes without allocation.

/// The digits that `text` begins with, and the rest. `None` without a digit, or beyond 64 bits.
pub(crate) fn digits(text: &[u8]) -> Option<(u64, &[u8])> {
    let (mut value, mut len) = (0u64, 0);
    // 19 digits fit whatever they are.
    while let Some(digit) = digit(text, len).filter(|_| len < 19) {
        value = value * 10 + digit;
        len += 1;
    }
    while let Some(digit) = digit(text, len) {
        value = value.checked_mul(10)?.checked_add(digit)?;
        len += 1;
    }
    (len > 0).then(|| (value, &text[len..]))
}

fn digit(text: &[u8], at: usize) -> Option<u64> {
    text.get(at).map(|byte| byte.wrapping_sub(b'0')).filter(|&digit| digit < 10).map(u64::from)
}

/// A number and nothing else.
pub(crate) fn whole(text: &[u8]) -> Option<u64> {
    digits(text).filter(|(_, rest)| rest.is_empty()).map(|(value, _)| value)
}

/// A fraction of a unit that has `per_unit` nanoseconds, as far as nanoseconds go: the digits after a point. Gives it
/// with the number of digits, and the rest.
fn fraction(text: &[u8], per_unit: u64) -> (u64, u8, &[u8]) {
    let (mut billionths, mut len) = (0, 0);
    while let Some(digit) = digit(text, len).filter(|_| len < 9) {
        billionths = billionths * 10 + digit;
        len += 1;
    }
    let nanos = billionths * 10u64.pow(9 - len as u32) / (SECOND / per_unit);
    len += text[len..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    (nanos, len.min(usize::from(u8::MAX)) as u8, &text[len..])
}

/// A decimal number of units as nanoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decimal {
    pub nanos: u64,
    /// Digits after the point.
    pub digits: u8,
}

/// `12.000345` units of `per_unit` nanoseconds each; the point may be a comma. Also gives the text behind the number.
pub(crate) fn decimal(text: &[u8], per_unit: u64) -> Option<(Decimal, &[u8])> {
    let (units, rest) = digits(text)?;
    let nanos = units.checked_mul(per_unit)?;
    match rest.split_first() {
        Some((b'.' | b',', after)) if after.first().is_some_and(u8::is_ascii_digit) => {
            let (part, digits, rest) = fraction(after, per_unit);
            Some((Decimal { nanos: nanos.checked_add(part)?, digits }, rest))
        }
        _ => Some((Decimal { nanos, digits: 0 }, rest)),
    }
}

pub(crate) const SECOND: u64 = 1_000_000_000;
pub(crate) const MILLISECOND: u64 = 1_000_000;

/// `13:30:03`, `1:30:03.0979793`, with the rest. In nanoseconds since midnight, or since noon.
pub(crate) fn clock(text: &[u8]) -> Option<(u64, &[u8])> {
    let (hours, rest) = digits(text)?;
    let (minutes, rest) = digits(rest.strip_prefix(b":")?)?;
    let (seconds, rest) = decimal(rest.strip_prefix(b":")?, SECOND)?;
    if hours > 99 || minutes > 59 || seconds.nanos >= 61 * SECOND {
        return None;
    }
    Some(((hours * 60 + minutes) * 60 * SECOND + seconds.nanos, rest))
}

/// `6,418,432`, `6.418.432`, `6 418 432`, `6'418'432`: a whole number in groups of three, as people's settings have it.
pub(crate) fn grouped(text: &[u8]) -> Option<u64> {
    let (mut value, mut rest) = digits(text)?;
    loop {
        let after = [&b","[..], b".", b" ", b"'", "\u{a0}".as_bytes(), "\u{202f}".as_bytes(), "\u{2019}".as_bytes()]
            .iter()
            .find_map(|separator| rest.strip_prefix(*separator));
        match after.filter(|after| after.len() >= 3 && after[..3].iter().all(u8::is_ascii_digit)) {
            Some(after) if !after.get(3).is_some_and(u8::is_ascii_digit) => {
                value = value.checked_mul(1000)?.checked_add(whole(&after[..3])?)?;
                rest = &after[3..];
            }
            _ => return Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_become_nanoseconds_without_rounding() {
        let read = |text: &str| decimal(text.as_bytes(), SECOND).map(|(decimal, _)| (decimal.nanos, decimal.digits));
        assert_eq!(read("0.000123>"), Some((123_000, 6)));
        assert_eq!(read("1795305722.784861"), Some((1_795_305_722_784_861_000, 6)));
        assert_eq!(read("0,0000001"), Some((100, 7)));
        assert_eq!(read("3"), Some((3_000_000_000, 0)));
        assert_eq!(read("0.0000000019"), Some((1, 10)), "what is below a nanosecond is cut");
        assert_eq!(read("99999999999999999999"), None);
        assert_eq!(read(".5"), None);
        assert_eq!(decimal(b"0.019 ms", MILLISECOND).unwrap().0, Decimal { nanos: 19_000, digits: 3 });
    }

    #[test]
    fn thousands_are_grouped_by_what_the_machines_settings_say() {
        for text in
            ["6,418,432", "6.418.432, I/O", "6 418 432", "6\u{a0}418\u{a0}432", "6\u{202f}418\u{202f}432", "6'418'432"]
        {
            assert_eq!(grouped(text.as_bytes()), Some(6_418_432), "{text}");
        }
        assert_eq!(grouped(b"512, I/O Flags"), Some(512));
        assert_eq!(grouped(b"4, 512"), Some(4));
        assert_eq!(grouped(b"1,2345"), Some(1));
        assert_eq!(grouped(b"n/a"), None);
    }

    #[test]
    fn clocks_are_read_with_and_without_fractions() {
        assert_eq!(clock(b"00:02:02.957347 close(").unwrap(), (122_957_347_000, &b" close("[..]));
        assert_eq!(clock(b"13:30:03 x").unwrap().0, (13 * 3600 + 30 * 60 + 3) * SECOND);
        assert_eq!(clock(b"12:61:00"), None);
        assert_eq!(clock(b"12:00"), None);
    }
}
