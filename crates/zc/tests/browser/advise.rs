//! The page of `zc advise`: its two fields for a rate of one's own.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::running::Bounded as _;
use super::{browser, can_be_read, strings};
use crate::webdriver::Browser;

/// The page of a real log and a real run.
fn page(folder: &Path) -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(env!("CARGO_BIN_EXE_zc"))
        .arg("advise")
        .arg(here.join("../access-log/testdata/elastic-examples.log"))
        .arg("--from-run")
        .arg(here.join("tests/it/testdata/requests.json"))
        .args(["-o", "page.html"])
        .current_dir(folder)
        .finish()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    folder.join("page.html")
}

/// Texts of the table of cores below a field.
fn cores(browser: &Browser, field: usize) -> Vec<String> {
    strings(&browser.script(&format!(
        "return Array.from(document.querySelectorAll('.cores')[{field}]\
         .querySelectorAll('tbody td'))\
         .map(cell => cell.textContent)"
    )))
}

/// The figures of a cell, each with half of its last digit.
fn rounded(text: &str) -> Vec<(f64, f64)> {
    let figure = |text: &str| {
        let decimals = text.split_once('.').map_or(0, |(_, decimals)| decimals.len());
        (text.parse().unwrap_or_else(|_| panic!("{text:?}")), 0.51 * 0.1_f64.powi(decimals as i32))
    };
    text.split(" ±").map(figure).collect()
}

#[test]
fn cores_at_a_typed_rate_are_in_proportion_to_it_and_each_field_has_its_own() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    browser.open(&page(folder.path()));
    assert_eq!(browser.console(), []);
    let labels = browser.script(
        "return Array.from(document.querySelectorAll('.cores input')).map(field => \
         field.labels[0].textContent)",
    );
    let labels = strings(&labels);
    assert_eq!(labels.len(), 2, "{labels:?}");
    assert!(
        labels[0].contains("requests per second") && labels[1].contains("Gbit/s"),
        "{labels:?}"
    );
    for field in 0..2 {
        let other = cores(&browser, 1 - field);
        let set = |times: f64| {
            browser.script(&format!(
                "const field = document.querySelectorAll('.cores input')[{field}];
                field.value = Number(field.value) * {times};
                field.dispatchEvent(new Event('input'))"
            ));
            cores(&browser, field)
        };
        let one = set(100.0);
        let ten = set(10.0);
        assert_eq!(one.len(), 4, "two paths, each with what it saves: {one:?}");
        for (ten, one) in ten.iter().zip(&one).filter(|(_, one)| !one.is_empty()) {
            for ((ten, off), (one, rounded)) in std::iter::zip(rounded(ten), rounded(one)) {
                assert!((ten - 10.0 * one).abs() <= off + 10.0 * rounded, "{ten} of {one}");
            }
        }
        assert_eq!(cores(&browser, 1 - field), other, "the other field's are as before");
    }
}

#[test]
fn an_advice_fits_a_telephone_and_can_be_read_in_light_and_in_dark() {
    let Some(browser) = browser() else { return };
    let folder = tempfile::tempdir().unwrap();
    browser.width(360);
    browser.open(&page(folder.path()));
    assert_eq!(browser.console(), []);
    can_be_read(&browser);
    let charts = browser.script("return document.querySelectorAll('.chart svg[role=img]').length");
    assert_eq!(charts, 2, "sizes, and cores by path");
}
