//! Arguments of configure that decide where nginx looks, in the text of `nginx -V`.

/// The folder that relative paths refer to where configure was given none (`auto/options` in
/// <https://github.com/nginx/nginx/blob/master/auto/options>).
const DEFAULT_PREFIX: &str = "/usr/local/nginx";

/// The value of an argument of configure, such as `--prefix=`.
pub(super) fn argument<'b>(build: &'b str, name: &str) -> Option<&'b str> {
    let value = build.split(name).nth(1)?.split([' ', '\'', '\n']).next()?;
    (!value.is_empty()).then_some(value)
}

/// The folder of nginx that relative paths of files and modules refer to.
pub(super) fn prefix(build: &str) -> &str {
    argument(build, "--prefix=").map_or(DEFAULT_PREFIX, |prefix| prefix.trim_end_matches('/'))
}

/// The configuration that nginx reads unless it is given another.
pub fn conf_path(build: &str) -> String {
    let path = argument(build, "--conf-path=").map(str::to_owned);
    path.unwrap_or_else(|| format!("{}/conf/nginx.conf", prefix(build)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_end_at_spaces_quotes_and_lines() {
        let build = "configure arguments: --with-ld-opt='-Wl' --prefix=/usr/share/nginx/ \
                     --conf-path=/etc/nginx/nginx.conf\n";
        assert_eq!(prefix(build), "/usr/share/nginx");
        assert_eq!(conf_path(build), "/etc/nginx/nginx.conf");
        assert_eq!(conf_path("'--prefix=/opt'"), "/opt/conf/nginx.conf");
        assert_eq!(conf_path(""), "/usr/local/nginx/conf/nginx.conf");
        assert_eq!(argument("--http-log-path= ", "--http-log-path="), None);
    }
}
