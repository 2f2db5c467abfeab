//! sendfile, splice and vmsplice.
