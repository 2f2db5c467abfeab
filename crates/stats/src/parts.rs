//! Connected components (union-find): things that are connected directly or through others.

/// Things, and the components that they belong to.
pub(crate) struct Parts {
    parents: Vec<usize>,
    count: usize,
}

impl Parts {
    pub(crate) fn new(things: usize) -> Self {
        Self { parents: (0..things).collect(), count: things }
    }

    pub(crate) fn root(&mut self, mut thing: usize) -> usize {
        while self.parents[thing] != thing {
            self.parents[thing] = self.parents[self.parents[thing]];
            thing = self.parents[thing];
        }
        thing
    }

    pub(crate) fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        if one != other {
            self.parents[one] = other;
            self.count -= 1;
        }
    }

    pub(crate) fn count(&self) -> usize {
        self.count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_is_one_part() {
        let mut parts = Parts::new(5);
        parts.join(0, 1);
        parts.join(2, 1);
        parts.join(0, 2);
        assert_eq!(parts.count(), 3);
        assert!(parts.root(0) == parts.root(2) && parts.root(3) != parts.root(0));
    }
}
