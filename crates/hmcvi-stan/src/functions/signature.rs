//! Read signatures of functions: `vector(matrix, real|int[])`.

use crate::types::{Base, Ty};

/// Types that an argument can have.
#[derive(Clone, Copy, Debug)]
struct Pattern {
    bases: u16,
    /// Dimensions of arrays; any number if nothing is said.
    arrays: Option<u8>,
}

/// The type of a result.
#[derive(Clone, Copy, Debug)]
enum Gives {
    Type(Ty),
    /// That of an argument, with real numbers for integers.
    Real(usize),
    /// That of an argument.
    Same(usize),
    /// That of a part of the first argument.
    Part,
    /// Arrays of the first argument, with so many dimensions more.
    Arrays(u8),
}

/// Types of arguments and of the result.
#[derive(Clone, Debug)]
pub(super) struct Signature {
    pub(super) text: &'static str,
    arguments: Vec<Vec<Pattern>>,
    gives: Gives,
}

const BASES: [(&str, Base); 6] = [
    ("int", Base::Int),
    ("real", Base::Real),
    ("vector", Base::Vector),
    ("row_vector", Base::RowVector),
    ("matrix", Base::Matrix),
    ("void", Base::Void),
];

fn bit(base: Base) -> u16 {
    1 << base as u8
}

impl Pattern {
    fn parse(text: &str) -> Vec<Pattern> {
        let one = |text: &str| {
            let (name, arrays) = match text.split_once('[') {
                Some((name, rest)) => (name, rest.matches(',').count() as u8 + 1),
                None => (text, 0),
            };
            let all = BASES[..5].iter().fold(0, |bits, (_, base)| bits | bit(*base));
            if name == "any" {
                return Pattern { bases: all, arrays: None };
            }
            let own = BASES.iter().find(|(known, _)| *known == name);
            let own =
                own.map_or(0, |(_, base)| bit(*base) | if *base == Base::Real { bit(Base::Int) } else { 0 });
            Pattern { bases: own, arrays: Some(arrays) }
        };
        text.split('|').map(|part| one(part.trim())).collect()
    }

    fn takes(self, ty: Ty) -> bool {
        self.bases & bit(ty.base) != 0 && self.arrays.is_none_or(|arrays| arrays == ty.arrays)
    }
}

impl Signature {
    pub(super) fn parse(text: &'static str) -> Signature {
        let (result, rest) = text.split_once('(').unwrap_or((text, ")"));
        let inner = rest.trim_end_matches(')');
        // Commas of `[,]` are no commas between arguments.
        let mut arguments = Vec::new();
        let (mut start, mut depth) = (0, 0);
        for (at, c) in inner.char_indices().chain([(inner.len(), ',')]) {
            match c {
                '[' => depth += 1,
                ']' => depth -= 1,
                ',' if depth == 0 => {
                    if at > start {
                        arguments.push(Pattern::parse(inner[start..at].trim()));
                    }
                    start = at + 1;
                }
                _ => {}
            }
        }
        let gives = match result {
            "1" => Gives::Real(0),
            "2" => Gives::Real(1),
            "=1" => Gives::Same(0),
            "=2" => Gives::Same(1),
            "part" => Gives::Part,
            arrays if arrays.starts_with("=1[") => Gives::Arrays(arrays.matches(',').count() as u8 + 1),
            other => {
                let (name, arrays) = match other.split_once('[') {
                    Some((name, rest)) => (name, rest.matches(',').count() as u8 + 1),
                    None => (other, 0),
                };
                let base =
                    BASES.iter().find(|(known, _)| *known == name).map_or(Base::Void, |(_, base)| *base);
                Gives::Type(Ty { base, arrays })
            }
        };
        Signature { text, arguments, gives }
    }

    pub(super) fn arity(&self) -> usize {
        self.arguments.len()
    }

    pub(super) fn takes(&self, types: &[Ty]) -> bool {
        self.arguments.len() == types.len()
            && self.arguments.iter().zip(types).all(|(all, ty)| all.iter().any(|pattern| pattern.takes(*ty)))
    }

    pub(super) fn result(&self, types: &[Ty]) -> Ty {
        match self.gives {
            Gives::Type(ty) => ty,
            Gives::Real(i) => types[i].real(),
            Gives::Same(i) => types[i],
            Gives::Arrays(more) => types[0].array(more),
            Gives::Part => types[0].part().unwrap_or(Ty::VOID),
        }
    }
}
