//! Mutations: small changes of bytes that are likely to matter.

use crate::random::Random;

/// Words of the formats that are fuzzed, and numbers that break things.
const WORDS: [&[u8]; 24] = [
    b"nan",
    b"inf",
    b"-inf",
    b"1e999",
    b"-0",
    b"0",
    b"-1",
    b"4294967295",
    b"1e-320",
    b"\n",
    b"f ",
    b"v ",
    b"f 1 2 3\n",
    b"v 0 0 0\n",
    b"/",
    b"//",
    b"[[body]]\n",
    b"[[collider]]\n",
    b"[[rigid]]\n",
    b"[[joint]]\n",
    b" = ",
    b"[0.0, 0.0, 0.0]",
    b"\"cloth\"",
    b"kind = ",
];

/// The longest input that mutations make \[bytes\].
const LONGEST: usize = 4096;

/// Changes `data` in one to four places; `other` is an input to splice with.
pub fn mutate(data: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(data.len() + 1);
        let end = (at + 1 + random.below(16)).min(data.len());
        match random.below(10) {
            0 if at < data.len() => data[at] ^= 1 << random.below(8),
            1 if at < data.len() => data[at] = random.bits() as u8,
            2 if at < data.len() => data[at] = [0, 1, 127, 128, 254, 255, b'-', b'9'][random.below(8)],
            3 => data.insert(at, random.bits() as u8),
            4 if at < data.len() => drop(data.drain(at..end)),
            5 if at < data.len() => {
                let copy = data[at..end].to_vec();
                let to = random.below(data.len() + 1);
                data.splice(to..to, copy);
            }
            6 => {
                let word = WORDS[random.below(WORDS.len())];
                data.splice(at..at, word.iter().copied());
            }
            7 => {
                let from = random.below(other.len());
                let until = (from + 1 + random.below(64)).min(other.len());
                data.splice(at..at, other[from.min(until)..until].iter().copied());
            }
            8 if at + 4 <= data.len() => data[at..at + 4].copy_from_slice(&(random.bits() as u32).to_le_bytes()),
            _ => (0..random.below(32)).for_each(|_| data.push(random.bits() as u8)),
        }
    }
    data.truncate(LONGEST);
}
