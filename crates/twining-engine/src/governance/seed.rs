//! The defaults as a file to edit.

use crate::governance::policy::{defaults, to_yaml};

const COMMENT: &str = "Policy of this project: roles, quality gates, modes. Everything here may be
changed or left out; what is left out is as compiled into twining.

Keys that end in _additions extend a list and keep what it has, as in

  roles:
    coach:
      must_do_additions:
        - \"Check the API contract\"

Coverage is a fraction or a percentage. A range of complexities that no other
names splits the ones around it. `twining gates` and `twining role` show what
holds and where it came from; `twining doctor` shows mistakes in this file.";

/// `policy.yml` with every default in it.
#[must_use]
pub fn seeded_policy() -> String {
    to_yaml(&defaults(), COMMENT)
}
