//! Names of a fleet's objects. Names in Kubernetes are lower case, and at most 63 letters long.

use crate::plan::FleetPlan;

/// Labels, and the values of [`words::END`].
pub(super) mod words {
    /// The fleet that an object is of.
    pub(crate) const FLEET: &str = "zc-fleet";
    /// The number of its measurement.
    pub(crate) const CELL: &str = "zc-cell";
    /// The end of the measurement.
    pub(crate) const END: &str = "zc-end";
    /// An annotation: the name of the measurement, which may be too long for a label.
    pub(crate) const MEASUREMENT: &str = "zc-measurement";
    /// The end that sends.
    pub(crate) const NEAR: &str = "near";
    /// The end that receives.
    pub(crate) const FAR: &str = "far";
}

/// The most letters of the fleet's own name, so that names of Jobs have room for what follows.
const MOST: usize = 30;

/// The names of a fleet's objects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Names {
    /// The value of the label of all of them; the service, the secret and the config map are called
    /// so.
    pub(super) fleet: String,
}

impl Names {
    pub(super) fn for_plan(plan: &FleetPlan) -> Self {
        let plain = |text: &str, most: usize| -> String {
            let is_plain = |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit();
            let letters = text.chars().map(|letter| letter.to_ascii_lowercase());
            letters.map(|letter| if is_plain(letter) { letter } else { '-' }).take(most).collect()
        };
        // The random part is at the end. It distinguishes two fleets with the same name.
        let (name, drawn) = plan.job_name.rsplit_once('-').unwrap_or((&plan.job_name, ""));
        Self { fleet: format!("{}-{}", plain(name, MOST), plain(drawn, 8)) }
    }

    /// A number as it is in names and labels.
    pub(super) fn padded(cell: usize) -> String {
        format!("{cell:05}")
    }

    /// Common beginning of the names of a measurement's two Jobs.
    pub(super) fn measurement(&self, cell: usize) -> String {
        format!("{}-{}", self.fleet, Self::padded(cell))
    }

    /// The Job of an end.
    pub(super) fn job(&self, cell: usize, end: &str) -> String {
        format!("{}-{end}", self.measurement(cell))
    }

    /// The name by which the end that receives is found, below that of the service.
    pub(super) fn host(&self, cell: usize) -> String {
        format!("far-{}", Self::padded(cell))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kubernetes_options::is_dns_label;
    use crate::plan::tests::kubernetes_plan as plan;

    #[test]
    fn names_are_those_of_kubernetes_however_a_fleet_is_called() {
        let mut plan = plan("");
        assert_eq!(Names::for_plan(&plan).fleet, "zc-nightly-00000001");
        plan.job_name = format!("zc-{}_-89abcdef", "A_b".repeat(13));
        let names = Names::for_plan(&plan);
        for name in [names.job(999_999, words::NEAR), names.host(999_999), names.fleet.clone()] {
            assert!(is_dns_label(&name), "{name}");
        }
        assert!(names.fleet.ends_with("-89abcdef"), "{}", names.fleet);
    }
}
