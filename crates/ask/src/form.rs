//! What answers hold, in types: known without a run, so that the page's types come from here and not from examples.

use std::any::type_name;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use stepscope_model::DocumentKind;

use crate::answer::Answer;

/// One form that answers to a question can have. What was asked and the kind of file decide which.
#[derive(Debug)]
pub struct Form {
    /// What the page calls an answer of this form.
    pub name: &'static str,
    /// The kinds of files that it is about.
    pub about: &'static [DocumentKind],
    /// What is in it, in lists that forms may share.
    pub members: &'static [&'static [Member]],
}

/// A table, an object or a fact of an answer.
pub struct Member {
    pub key: &'static str,
    /// Which of the three it is.
    pub kind: MemberKind,
    /// Whether every answer of the form has it.
    pub always: bool,
    type_name: fn() -> &'static str,
    schema: fn(&mut SchemaGenerator) -> Schema,
}

/// What a member of an answer is.
#[derive(Copy, Clone, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// A list of rows, which can be asked for page by page.
    Rows,
    /// One object in place of rows.
    Single,
    /// Something said once.
    Fact,
}

/// A table with rows of this type.
pub(crate) const fn rows<R: JsonSchema>(key: &'static str) -> Member {
    Member::new::<R>(key, MemberKind::Rows)
}

/// An object of this type in place of rows.
pub(crate) const fn single<R: JsonSchema>(key: &'static str) -> Member {
    Member::new::<R>(key, MemberKind::Single)
}

/// A fact of this type.
pub(crate) const fn fact<T: JsonSchema>(key: &'static str) -> Member {
    Member::new::<T>(key, MemberKind::Fact)
}

impl Member {
    const fn new<T: JsonSchema>(key: &'static str, kind: MemberKind) -> Member {
        Member {
            key,
            kind,
            always: true,
            type_name: type_name::<T>,
            schema: SchemaGenerator::subschema_for::<T>,
        }
    }

    /// The same in some answers of the form only.
    pub(crate) const fn sometimes(mut self) -> Member {
        self.always = false;
        self
    }

    /// The type of a row, the object or the fact.
    pub fn schema(&self, generator: &mut SchemaGenerator) -> Schema {
        (self.schema)(generator)
    }
}

impl fmt::Debug for Member {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?} of {}", self.key, self.kind, (self.type_name)())
    }
}

impl Form {
    pub fn members(&self) -> impl Iterator<Item = &'static Member> {
        self.members.iter().copied().flatten()
    }

    /// Why the answer does not have this form; none if it has.
    pub(crate) fn misfit(&self, answer: &Answer) -> Option<String> {
        let parts = answer.parts.iter().filter(|part| part.in_json).map(|part| {
            let kind = if part.is_single() { MemberKind::Single } else { MemberKind::Rows };
            (part.key, kind, part.type_name())
        });
        let facts = answer.facts.iter().map(|fact| (fact.key, MemberKind::Fact, fact.type_name()));
        let held: Vec<(&str, MemberKind, &str)> = parts.chain(facts).collect();
        for &(key, kind, of) in &held {
            let Some(member) = self.members().find(|member| member.key == key) else {
                return Some(format!("'{key}' is not listed"));
            };
            if member.kind != kind || (member.type_name)() != of {
                return Some(format!("'{key}' is {kind:?} of {of}, and {member:?} is listed"));
            }
        }
        let missing = self.members().find(|member| member.always && held.iter().all(|has| has.0 != member.key));
        missing.map(|member| format!("'{}' is missing", member.key))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer::Part;

    #[test]
    fn an_answer_of_another_form_is_told_by_what_it_holds() {
        const FORM: Form = Form {
            name: "Example",
            about: &[DocumentKind::Trace],
            members: &[
                &[rows::<u64>("sizes"), fact::<Option<i64>>("at")],
                &[single::<bool>("rare").sometimes()],
            ],
        };
        let sizes = || Part::data("sizes", vec![1u64]);
        let misfit = |answer: &Answer| FORM.misfit(answer).unwrap_or_default();
        assert_eq!(misfit(&Answer::new(vec![sizes()]).fact("at", &Some(1i64))), "");
        assert_eq!(misfit(&Answer::new(vec![sizes()])), "'at' is missing");
        let more = Answer::new(vec![sizes()]).fact("at", &None::<i64>).fact("more", &1);
        assert_eq!(misfit(&more), "'more' is not listed");
        let other = Answer::new(vec![sizes()]).fact("at", &1i64);
        assert!(misfit(&other).starts_with("'at' is Fact of i64"), "{}", misfit(&other));
        let rows = Answer::new(vec![sizes(), Part::data("rare", vec![true])]).fact("at", &None::<i64>);
        assert!(misfit(&rows).starts_with("'rare' is Rows"), "{}", misfit(&rows));
        // Tables for people only are not part of it.
        let hidden = Part { in_json: false, ..Part::data("words", vec![0u8]) };
        assert_eq!(misfit(&Answer::new(vec![sizes(), hidden]).fact("at", &None::<i64>)), "");
    }
}
