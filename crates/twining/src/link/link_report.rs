//! What came of `twining link`, as the person who ran it reads it.

use serde_json::{Value, json};
use twining_model::Id;
use twining_store::StoreError;
use twining_store::git::BranchCommitError;

use super::demoted_report::{DemotedDecision, show_demoted};
use crate::render::text_page::{TextPage, count, dim, good, place, plain, warn};

pub(super) struct LinkReport<'a> {
    pub address: &'a str,
    /// The file that has the address and the token.
    pub settings: String,
    pub repository: Option<Id>,
    pub is_labelled: bool,
    /// Lines of the log that were new here, and lines it took.
    pub received: u64,
    pub sent: u64,
    /// Changes sent again that the log had refused, and those it refuses now.
    pub retried: u64,
    pub refused: u64,
    pub delivered: Result<(), StoreError>,
    /// Records that git tracked, and whether it let them go.
    pub tracked: u64,
    pub untracked: Result<(), BranchCommitError>,
    pub demoted: Vec<DemotedDecision>,
    /// The command that is left to run.
    pub next: String,
}

impl LinkReport<'_> {
    pub(super) fn to_json(&self) -> Value {
        json!({
            "linked": true, "address": self.address, "repository": self.repository,
            "labelled": self.is_labelled, "settings": self.settings,
            "received": self.received, "sent": self.sent,
            "retried": self.retried, "refused": self.refused,
            "untracked": if self.untracked.is_ok() { self.tracked } else { 0 },
            "demoted": self.demoted.iter().map(DemotedDecision::to_json).collect::<Vec<_>>(),
            "synced": self.delivered.is_ok() && self.refused == 0, "next": self.next,
        })
    }

    pub(super) fn show(&self, page: &mut TextPage) {
        page.line([good("linked to"), place(self.address)]);
        page.line([dim(format!(
            "received {}, sent {}",
            count(self.received, "line"),
            count(self.sent, "line")
        ))]);
        if self.retried > 0 {
            let lines = count(self.retried, "change");
            page.line([dim(format!("sent again {lines} that the log had refused"))]);
        }
        if self.refused > 0 {
            let lines = count(self.refused, "line");
            page.line([warn(format!("refused: {lines}; `twining sync refused` says why"))]);
        }
        if let Err(error) = &self.delivered {
            page.line([warn(format!("not all is sent yet: {error}"))]);
        }
        page.line([dim("address and token are in"), place(&self.settings)]);
        if self.repository.is_some() && !self.is_labelled {
            page.line([warn("config.yml cannot be edited: the label `team` is not written")]);
        }
        self.show_untracked(page);
        show_demoted(page, &self.demoted);
        if !self.next.is_empty() {
            page.line([plain(match &self.untracked {
                Ok(()) => "Commit what changed for git:",
                Err(_) => "Let git forget the records, and commit that:",
            })]);
            page.block(2, &self.next);
        }
    }

    fn show_untracked(&self, page: &mut TextPage) {
        match &self.untracked {
            Ok(()) if self.tracked == 0 => {}
            Ok(()) => page.line([dim(format!(
                "git no longer tracks {}; they are in the folder",
                count(self.tracked, "file")
            ))]),
            Err(error) => page.line([warn(format!("git still tracks the records: {error}"))]),
        }
    }
}
