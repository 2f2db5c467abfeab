//! A value for each kind of response.

use schemars::JsonSchema;
use serde::Serialize;

use crate::entry::Class;

/// A value for each kind of response.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Classes<T> {
    /// GET, answered with 200: a whole representation.
    pub whole: T,
    /// 206: a part of one.
    pub range: T,
    /// 304: no body.
    pub not_modified: T,
    /// HEAD: no body.
    pub head: T,
    /// Everything else: other methods, redirects, errors.
    pub other: T,
    /// Responses whose length is not logged (`-`), although they may have a body. They count as 0
    /// bytes.
    pub unmeasured: T,
}

impl<T> Classes<T> {
    /// The value for `class`.
    pub fn get(&self, class: Class) -> &T {
        match class {
            Class::Whole => &self.whole,
            Class::Range => &self.range,
            Class::NotModified => &self.not_modified,
            Class::Head => &self.head,
            Class::Other => &self.other,
            Class::Unmeasured => &self.unmeasured,
        }
    }

    pub(super) fn get_mut(&mut self, class: Class) -> &mut T {
        match class {
            Class::Whole => &mut self.whole,
            Class::Range => &mut self.range,
            Class::NotModified => &mut self.not_modified,
            Class::Head => &mut self.head,
            Class::Other => &mut self.other,
            Class::Unmeasured => &mut self.unmeasured,
        }
    }
}
