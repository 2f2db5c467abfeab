//! Which modules are loaded, as `<IfModule>` asks: by identifier or by source file
//! (<https://httpd.apache.org/docs/2.4/mod/core.html#ifmodule>).

use std::collections::HashSet;

use super::build;

/// The modules that are part of the program or have been loaded.
#[derive(Debug, Clone, Default)]
pub(super) struct Modules {
    names: HashSet<String>,
}

impl Modules {
    /// Those that are part of the program.
    pub(super) fn of_program(build: &str) -> Self {
        let mut out = Self::default();
        for source in build::modules(build) {
            let stem = source.trim_end_matches(".c");
            let stem = stem.strip_prefix("mod_").unwrap_or(stem);
            // `http_core.c` is `http_module`, `event.c` is `mpm_event_module`.
            let stem = match stem {
                "http_core" => "http",
                "event" => "mpm_event",
                "worker" => "mpm_worker",
                "prefork" => "mpm_prefork",
                stem => stem,
            };
            out.names.insert(source.to_owned());
            out.names.insert(format!("{stem}_module"));
        }
        out
    }

    /// `LoadModule ID FILE`. The name of its source is in its object only; by convention it is
    /// that of the object or of the identifier.
    pub(super) fn load(&mut self, id: &str, file: &str) {
        let name = file.rsplit('/').next().unwrap_or(file);
        let stem = name.strip_suffix(".so").unwrap_or(name);
        let short = id.strip_suffix("_module").unwrap_or(id);
        let of_mpm = short.strip_prefix("mpm_").map(|mpm| format!("{mpm}.c"));
        let sources = [format!("{stem}.c"), format!("mod_{short}.c")];
        self.names.extend(sources.into_iter().chain(of_mpm));
        self.names.insert(id.to_owned());
    }

    /// Whether there is a module of this identifier or source.
    pub(super) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_are_known_by_identifier_and_by_source() {
        let mut modules = Modules::of_program("Compiled in modules:\n  core.c\n  http_core.c\n");
        modules.load("mpm_event_module", "/usr/lib/apache2/modules/mod_mpm_event.so");
        modules.load("php7_module", "modules/libphp7.4.so");
        for name in ["core.c", "core_module", "http_module", "event.c", "mod_mpm_event.c"] {
            assert!(modules.has(name), "{name}");
        }
        assert!(modules.has("mpm_event_module") && modules.has("mod_php7.c"));
        assert!(!modules.has("mod_ssl.c") && !modules.has("ssl_module") && !modules.has(""));
    }
}
