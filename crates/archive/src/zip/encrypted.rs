//! Encrypted entries: PKWARE's old cipher, and AES as WinZip writes it (AE-1 and AE-2).
//!
//! The old cipher tells a wrong password by one byte, which one in 256 passes; then the checksum does. AES tells it by
//! two bytes, and its content has an authentication code, which is compared before the end of the content is told.

use std::io::{self, Read};

use aes::{Aes128, Aes192, Aes256};
use ctr::Ctr128LE;
use ctr::cipher::{KeyIvInit, StreamCipher};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use zeroize::Zeroizing;

use super::content::damaged;
use super::directory::Record;
use super::field::u16_at;
use crate::password::{CLOSED, Password, WRONG};

/// The field that says how an entry is encrypted with AES.
pub(super) const AES: u16 = 0x9901;
/// The method that stands in place of the method of compression.
pub(super) const AES_METHOD: u16 = 99;
/// What comes before content that is encrypted with the old cipher.
const OLD_HEADER: usize = 12;
/// How much of the authentication code is kept.
const CODE: usize = 10;
const VERIFIER: usize = 2;
const ROUNDS: u32 = 1000;

/// How an entry is encrypted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encryption {
    /// With this byte at the end of its header.
    Old {
        check: u8,
    },
    Aes {
        key_len: usize,
        has_crc: bool,
    },
    /// In a way that is not known.
    Other,
}

impl Encryption {
    /// AES by its extra field, with the method of compression.
    pub(super) fn aes(field: &[u8]) -> Option<(Encryption, u16)> {
        // Version, "AE", strength, method.
        let has_crc = match (field.get(..4)?, field.len()) {
            ([1, 0, b'A', b'E'], 7) => true,
            ([2, 0, b'A', b'E'], 7) => false,
            _ => return None,
        };
        let key_len = match field[4] {
            1 => 16,
            2 => 24,
            3 => 32,
            _ => return None,
        };
        Some((Encryption::Aes { key_len, has_crc }, u16_at(field, 5)))
    }

    /// How many bytes come before the content, and behind it.
    fn around(self) -> (usize, usize) {
        match self {
            Encryption::Old { .. } => (OLD_HEADER, 0),
            Encryption::Aes { key_len, .. } => (key_len / 2 + VERIFIER, CODE),
            Encryption::Other => (0, 0),
        }
    }
}

/// Decrypts the content of one entry.
enum Cipher {
    Old(Keys),
    Aes { stream: Box<dyn StreamCipher + Send>, code: Box<Hmac<Sha1>> },
}

impl Cipher {
    /// `head`: what comes before the content. Outside: whether the password may be right.
    fn new(encryption: Encryption, password: &Password, head: &[u8]) -> io::Result<Option<Cipher>> {
        match encryption {
            Encryption::Old { check } => {
                let mut keys = Keys::new(password.bytes());
                let mut head: [u8; OLD_HEADER] = head.try_into().map_err(|_| too_short())?;
                keys.decrypt(&mut head);
                Ok((head[OLD_HEADER - 1] == check).then_some(Cipher::Old(keys)))
            }
            Encryption::Aes { key_len, .. } => {
                let (salt, verifier) = head.split_at_checked(key_len / 2).ok_or_else(too_short)?;
                let mut keys = Zeroizing::new([0; 2 * 32 + VERIFIER]);
                let keys = &mut keys[..2 * key_len + VERIFIER];
                pbkdf2::pbkdf2_hmac::<Sha1>(password.bytes(), salt, ROUNDS, keys);
                if keys[2 * key_len..] != *verifier {
                    return Ok(None);
                }
                // The counter begins with 1.
                let mut counter = [0; 16];
                counter[0] = 1;
                let key = &keys[..key_len];
                let stream: Box<dyn StreamCipher + Send> = match key_len {
                    16 => Box::new(Ctr128LE::<Aes128>::new_from_slices(key, &counter).expect("its length is right")),
                    24 => Box::new(Ctr128LE::<Aes192>::new_from_slices(key, &counter).expect("its length is right")),
                    _ => Box::new(Ctr128LE::<Aes256>::new_from_slices(key, &counter).expect("its length is right")),
                };
                let code = Hmac::new_from_slice(&keys[key_len..2 * key_len]).expect("any length is right");
                Ok(Some(Cipher::Aes { stream, code: Box::new(code) }))
            }
            Encryption::Other => Err(unknown()),
        }
    }

    fn decrypt(&mut self, bytes: &mut [u8]) {
        match self {
            Cipher::Old(keys) => keys.decrypt(bytes),
            Cipher::Aes { stream, code } => {
                code.update(bytes);
                stream.apply_keystream(bytes);
            }
        }
    }

    /// Compares all content with its authentication code, in a time that does not depend on where they differ.
    fn finish(&self, said: &[u8]) -> io::Result<()> {
        let is_right = match self {
            Cipher::Old(_) => true,
            Cipher::Aes { code, .. } => code.as_ref().clone().verify_truncated_left(said).is_ok(),
        };
        if is_right { Ok(()) } else { Err(damaged("its content has another authentication code than it should have")) }
    }
}

/// The keys of the old cipher.
struct Keys(Zeroizing<[u32; 3]>);

impl Keys {
    fn new(password: &[u8]) -> Keys {
        let mut keys = Keys(Zeroizing::new([0x1234_5678, 0x2345_6789, 0x3456_7890]));
        password.iter().for_each(|&byte| keys.update(byte));
        keys
    }

    fn update(&mut self, byte: u8) {
        let [first, second, third] = &mut *self.0;
        *first = crc_step(*first, byte);
        *second = second.wrapping_add(*first & 0xff).wrapping_mul(0x0808_8405).wrapping_add(1);
        *third = crc_step(*third, (*second >> 24) as u8);
    }

    fn decrypt(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            let mixed = (self.0[2] | 2) & 0xffff;
            *byte ^= (mixed.wrapping_mul(mixed ^ 1) >> 8) as u8;
            self.update(*byte);
        }
    }
}

const TABLE: [u32; 256] = {
    let mut table = [0; 256];
    let mut number = 0;
    while number < 256 {
        let mut value = number as u32;
        let mut bit = 0;
        while bit < 8 {
            value = if value & 1 != 0 { value >> 1 ^ 0xedb8_8320 } else { value >> 1 };
            bit += 1;
        }
        table[number] = value;
        number += 1;
    }
    table
};

/// A byte more in a CRC-32, without the complements at its ends.
fn crc_step(crc: u32, byte: u8) -> u32 {
    TABLE[usize::from(crc as u8 ^ byte)] ^ crc >> 8
}

fn too_short() -> io::Error {
    damaged("its content is shorter than the header of its encryption")
}

fn unknown() -> io::Error {
    let message = "it is encrypted in a way that is not supported; `7zz x` may know it";
    io::Error::new(io::ErrorKind::Unsupported, message)
}

/// That the password is wrong. No damage, so that nothing of the entry stays.
fn wrong() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, WRONG)
}

fn needed(password: Option<&Password>) -> io::Result<&Password> {
    password.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, CLOSED))
}

/// Whether a password may be that of an entry, whose content `packed` begins with.
pub(super) fn is_right(encryption: Encryption, password: &Password, mut packed: impl Read) -> io::Result<bool> {
    let mut head = vec![0; encryption.around().0];
    packed.read_exact(&mut head)?;
    Ok(Cipher::new(encryption, password, &head)?.is_some())
}

/// The content of an entry that is all in memory. It is authenticated before any of it is decrypted.
pub(super) fn whole(encryption: Encryption, password: Option<&Password>, packed: &[u8]) -> io::Result<Vec<u8>> {
    let (before, behind) = encryption.around();
    let end = packed.len().checked_sub(behind).filter(|&end| end >= before).ok_or_else(too_short)?;
    let mut cipher = Cipher::new(encryption, needed(password)?, &packed[..before])?.ok_or_else(wrong)?;
    let mut content = packed[before..end].to_vec();
    cipher.decrypt(&mut content);
    cipher.finish(&packed[end..])?;
    Ok(content)
}

/// The compressed content of an entry, decrypted if it is encrypted.
pub(super) enum Packed<R> {
    Plain(R),
    Encrypted(Box<Decrypted<R>>),
}

pub(super) struct Decrypted<R> {
    inner: R,
    cipher: Cipher,
    /// How much of the content has not been read.
    left: u64,
    /// How long the code behind it is; `None`: it was compared.
    code: Option<usize>,
}

impl<R: Read> Packed<R> {
    /// `inner` has all that the archive has of the entry.
    pub(super) fn new(record: &Record<'_>, password: Option<&Password>, mut inner: R) -> io::Result<Packed<R>> {
        let Some(encryption) = record.encryption else { return Ok(Packed::Plain(inner)) };
        let (before, behind) = encryption.around();
        let left = record.packed.checked_sub((before + behind) as u64).ok_or_else(too_short)?;
        let mut head = vec![0; before];
        inner.read_exact(&mut head)?;
        let cipher = Cipher::new(encryption, needed(password)?, &head)?.ok_or_else(wrong)?;
        Ok(Packed::Encrypted(Box::new(Decrypted { inner, cipher, left, code: Some(behind) })))
    }

    /// How many bytes have not been read.
    pub(super) fn left(&self, of: impl FnOnce(&R) -> u64) -> u64 {
        match self {
            Packed::Plain(inner) => of(inner),
            Packed::Encrypted(decrypted) => decrypted.left,
        }
    }

    /// Reads on to the end of what is encrypted, where it is authenticated.
    pub(super) fn finish(&mut self) -> io::Result<()> {
        if let Packed::Encrypted(decrypted) = self {
            io::copy(&mut **decrypted, &mut io::sink())?;
        }
        Ok(())
    }
}

impl<R: Read> Read for Packed<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Packed::Plain(inner) => inner.read(into),
            Packed::Encrypted(decrypted) => decrypted.read(into),
        }
    }
}

impl<R: Read> Read for Decrypted<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = self.left.min(into.len() as u64) as usize;
        let len = self.inner.read(&mut into[..most])?;
        if len == 0 && most > 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.cipher.decrypt(&mut into[..len]);
        self.left -= len as u64;
        // Compared before the last bytes are given away.
        if self.left == 0
            && let Some(code) = self.code.take()
        {
            let mut said = [0; CODE];
            self.inner.read_exact(&mut said[..code])?;
            self.cipher.finish(&said[..code])?;
        }
        Ok(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_cipher_turns_its_own_output_back() {
        let mut keys = Keys::new(b"secret");
        let mut zeros = [0; 8];
        keys.decrypt(&mut zeros);
        assert_ne!(zeros, [0; 8]);
        assert_eq!(crc_step(!0, b'a') ^ !0, 0xe8b7_be43, "the CRC-32 of one letter");
    }

    #[test]
    fn an_extra_field_that_is_not_known_is_not_taken_for_aes() {
        assert_eq!(Encryption::aes(b"\x02\0AE\x03\x08\0"), Some((Encryption::Aes { key_len: 32, has_crc: false }, 8)));
        for field in
            [&b"\x03\0AE\x03\x08\0"[..], b"\x02\0XX\x03\x08\0", b"\x02\0AE\x04\x08\0", b"\x02\0AE\x03\x08", b""]
        {
            assert_eq!(Encryption::aes(field), None, "{field:?}");
        }
    }
}
