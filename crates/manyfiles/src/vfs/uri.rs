//! From what the caller names to a path of one backend, and back.

use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::Backend;
use super::file_key::FileKey;
use crate::sys;

/// The scheme that stands for plain paths as well.
pub(super) const FILE: &str = "file";

type Backends = [(String, Arc<dyn Backend>)];

fn invalid(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, message.into())
}

/// The file or folder that `uri` names. A relative path is taken from `base`.
pub(super) fn resolve(uri: &OsStr, backends: &Backends, base: Option<&Path>) -> io::Result<FileKey> {
    if uri.is_empty() {
        return Err(invalid("an empty name; give a path or a URI"));
    }
    if uri.as_encoded_bytes().contains(&0) {
        return Err(invalid("no path may have a NUL byte in it"));
    }
    let Some((scheme, rest)) = split(uri, backends)? else { return plain(Path::new(uri), base) };
    let Some(number) = backends.iter().position(|(known, _)| known.eq_ignore_ascii_case(scheme)) else {
        let known: Vec<_> = backends.iter().map(|(known, _)| format!("{known}://")).collect();
        return Err(invalid(format!("nothing here answers to {scheme}://, only {} and plain paths", known.join(", "))));
    };
    if number == 0 {
        return Ok(FileKey::new(0, sys::path_from_bytes(path_of_file_uri(rest, cfg!(windows))?)?));
    }
    let Some(name) = rest.strip_prefix("//") else {
        return Err(invalid(format!("a URI of this kind begins with {scheme}://")));
    };
    backends[number].1.locate(name).map(|path| FileKey::new(number, path))
}

fn plain(path: &Path, base: Option<&Path>) -> io::Result<FileKey> {
    if path.is_absolute() {
        return Ok(FileKey::new(0, path.to_owned()));
    }
    let unknown = || io::Error::new(io::ErrorKind::NotFound, "the current folder is gone; give an absolute path");
    Ok(FileKey::new(0, base.ok_or_else(unknown)?.join(path)))
}

/// The scheme of a URI and what follows the colon; `None` for a path. One letter and a colon is a Windows drive.
/// Without `//` only what begins with a known scheme is a URI: other names may have colons.
fn split<'a>(uri: &'a OsStr, backends: &Backends) -> io::Result<Option<(&'a str, &'a str)>> {
    let bytes = uri.as_encoded_bytes();
    let Some(colon) = bytes.iter().position(|&byte| byte == b':') else { return Ok(None) };
    let (scheme, rest) = (&bytes[..colon], &bytes[colon + 1..]);
    let is_of_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || b"+-.".contains(byte);
    let is_scheme = colon > 1 && scheme[0].is_ascii_alphabetic() && scheme.iter().all(is_of_scheme);
    let is_known = || backends.iter().any(|(known, _)| known.as_bytes().eq_ignore_ascii_case(scheme));
    if !is_scheme || !(rest.starts_with(b"//") || is_known()) {
        return Ok(None);
    }
    let text =
        uri.to_str().ok_or_else(|| invalid("a URI is text; write other bytes as % and two hexadecimal digits"))?;
    Ok(Some((&text[..colon], &text[colon + 1..])))
}

/// The bytes of the path that a `file:` URI stands for (RFC 8089), given what follows the colon.
fn path_of_file_uri(rest: &str, windows: bool) -> io::Result<Vec<u8>> {
    let path = match rest.strip_prefix("//") {
        Some(with_host) => {
            let (host, path) = with_host.split_at(with_host.find('/').unwrap_or(with_host.len()));
            if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
                let hint = if windows { format!(r"; for a share give the path \\{host}\…") } else { String::new() };
                return Err(invalid(format!(
                    "{host:?} would be another machine: three slashes go before a local path, as in file:///folder/name{hint}"
                )));
            }
            path
        }
        None => rest,
    };
    if !path.starts_with('/') {
        return Err(invalid(
            "a file: URI holds an absolute path, as in file:///folder/name; a relative one is given plainly",
        ));
    }
    if let Some(at) = path.find(['?', '#']) {
        let sign = &path[at..=at];
        return Err(invalid(format!(
            "a file: URI has no part behind {sign:?}; in a name write %{:02X}",
            path.as_bytes()[at]
        )));
    }
    let mut bytes = decode(path, if windows { &[0, b'/', b'\\'] } else { &[0, b'/'] })?;
    if windows {
        let drive = |bytes: &[u8]| matches!(bytes, [b'/', letter, b':', b'/', ..] if letter.is_ascii_alphabetic());
        if bytes.starts_with(b"//") {
            return Err(invalid(r"a share is given as a plain path, as in \\server\share\name"));
        }
        if !drive(&bytes) || bytes.contains(&b'\\') {
            return Err(invalid(
                "on Windows a file: URI holds a drive and forward slashes, as in file:///C:/folder/name",
            ));
        }
        bytes.remove(0);
        bytes.iter_mut().filter(|byte| **byte == b'/').for_each(|byte| *byte = b'\\');
    }
    Ok(bytes)
}

/// Undoes percent-encoding, but for bytes that would not be part of a name any more.
fn decode(text: &str, forbidden: &[u8]) -> io::Result<Vec<u8>> {
    let mut decoded = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        if byte != b'%' {
            decoded.push(byte);
            continue;
        }
        let digit = |n: usize| rest.get(n).and_then(|&digit| char::from(digit).to_digit(16));
        let (Some(high), Some(low)) = (digit(0), digit(1)) else {
            return Err(invalid("two hexadecimal digits go behind a %; write %25 for a percent sign"));
        };
        let byte = (high * 16 + low) as u8;
        if forbidden.contains(&byte) {
            return Err(invalid(format!("%{byte:02X} would be no part of a name")));
        }
        decoded.push(byte);
        rest = &rest[2..];
    }
    Ok(decoded)
}

fn encode(name: &OsStr, into: &mut OsString) {
    for &byte in name.as_encoded_bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@".contains(&byte) {
            into.push(char::from(byte).encode_utf8(&mut [0; 4]));
        } else {
            into.push(format!("%{byte:02X}"));
        }
    }
}

/// The URI of a child of the folder that was named `folder`, in the same form.
pub(super) fn child(folder: &OsStr, name: &OsStr, backends: &Backends) -> OsString {
    let scheme = split(folder, backends).ok().flatten().map(|(scheme, _)| scheme); // it has been resolved before
    let Some(scheme) = scheme else { return Path::new(folder).join(name).into_os_string() };
    let mut uri = folder.to_owned();
    if !folder.as_encoded_bytes().ends_with(b"/") {
        uri.push("/");
    }
    if scheme.eq_ignore_ascii_case(FILE) {
        encode(name, &mut uri)
    } else {
        uri.push(name)
    }
    uri
}

/// How errors name a place.
pub(super) fn shown(backends: &Backends, key: &FileKey) -> PathBuf {
    if key.backend == 0 {
        return key.path.to_path_buf();
    }
    let mut shown = OsString::from(format!("{}://", backends[key.backend].0));
    shown.push(&*key.path);
    shown.into()
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn unix(rest: &str) -> Result<Vec<u8>, String> {
        path_of_file_uri(rest, false).map_err(|error| error.to_string())
    }

    fn windows(rest: &str) -> Result<String, String> {
        let path = path_of_file_uri(rest, true).map_err(|error| error.to_string())?;
        Ok(String::from_utf8(path).unwrap())
    }

    #[test]
    fn file_uris_on_unix() {
        for (rest, path) in [
            ("///a/b", "/a/b".as_bytes()),
            ("/a/b", b"/a/b"),
            ("//localhost/a", b"/a"),
            ("//LOCALHOST/a", b"/a"),
            ("///a%20b/%C3%A4%25", "/a b/ä%".as_bytes()),
            ("///%ff", b"/\xff"),
            ("///ä b", "/ä b".as_bytes()),
            ("///", b"/"),
            ("////server/share", b"//server/share"),
            ("///C:/x", b"/C:/x"),
        ] {
            assert_eq!(unix(rest).as_deref(), Ok(path), "file:{rest}");
        }
    }

    #[test]
    fn file_uris_on_windows() {
        for (rest, path) in [
            ("///C:/a/b", r"C:\a\b"),
            ("/c:/a%20b", r"c:\a b"),
            ("///C%3A/x", r"C:\x"),
            ("///C:/", r"C:\"),
            ("//localhost/D:/x", r"D:\x"),
        ] {
            assert_eq!(windows(rest).as_deref(), Ok(path), "file:{rest}");
        }
        for (rest, complaint) in [
            ("//server/share/x", r"\\server\"),
            ("////server/share", r"\\server\share"),
            ("///a/b", "file:///C:/"),
            ("///C:", "file:///C:/"),
            (r"///C:\x", "forward slashes"),
            ("///C:/a%5Cb", "%5C"),
            ("///CC:/x", "file:///C:/"),
        ] {
            assert!(windows(rest).unwrap_err().contains(complaint), "file:{rest}: {:?}", windows(rest));
        }
    }

    #[test]
    fn bad_file_uris_say_what_is_wrong() {
        for (rest, complaint) in [
            ("a/b", "absolute"),
            ("", "absolute"),
            ("//", "absolute"),
            ("//a/b", "\"a\" would be another machine"),
            ("//host", "another machine"),
            ("///a?x=1", "%3F"),
            ("///a#b", "%23"),
            ("///a%2", "%25"),
            ("///a%zz", "%25"),
            ("///a%+1", "%25"),
            ("///a%", "%25"),
            ("///a%00b", "%00"),
            ("///a%2fb", "%2F"),
        ] {
            assert!(unix(rest).unwrap_err().contains(complaint), "file:{rest}: {:?}", unix(rest));
        }
    }

    #[test]
    fn what_is_encoded_comes_back() {
        for name in ["plain", "a b%c", "ä/ö".split('/').next().unwrap(), "?#[]", "~!$&'()*+,;=:@"] {
            let mut uri = OsString::new();
            encode(name.as_ref(), &mut uri);
            assert_eq!(decode(uri.to_str().unwrap(), b"/").unwrap(), name.as_bytes());
        }
    }
}
