//! What `--stealth` finds in place for the team.

use std::path::{Path, PathBuf};

use super::piece::{Part, Piece};
use super::sheet::Sheet;
use super::{Host, Reach, ground};
use crate::desk::Project;
use crate::locate::FOLDER;

/// What an earlier `init` wrote for the team, and git tracks by now: `--stealth` can
/// neither hide it nor take it away from everybody.
#[derive(Debug, Default)]
pub struct Shared {
    /// Hosts it wired up.
    pub hosts: Vec<Host>,
    /// Files that hold some of it.
    pub files: Vec<PathBuf>,
    /// Whether the memory is among it.
    pub memory: bool,
}

impl Shared {
    /// Looks for it.
    pub fn of(project: &Project) -> Self {
        let ground = ground(project, Reach::Team);
        let relative = |file: &Path| file.strip_prefix(&ground.checkout).ok().map(|file| file.to_string_lossy().into_owned());
        let pieces: Vec<(Host, Piece)> =
            Host::ALL.into_iter().flat_map(|host| host.pieces(&ground).into_iter().map(move |piece| (host, piece))).collect();
        let names: Vec<String> = pieces.iter().filter_map(|(_, piece)| relative(&piece.file)).chain([FOLDER.to_owned()]).collect();
        let tracked = project.history.tracked_of(&names);
        let mut shared = Self { memory: tracked.iter().any(|file| file.starts_with(FOLDER)), ..Self::default() };
        for (host, piece) in pieces {
            let is_tracked = relative(&piece.file).is_some_and(|file| tracked.contains(&file));
            if !is_tracked || !std::fs::read_to_string(&piece.file).is_ok_and(|text| piece.part.is_in(&text)) {
                continue;
            }
            // A file that several hosts read says nothing of this one.
            if !matches!(piece.part, Part::Block(..)) {
                shared.hosts.push(host);
            }
            shared.files.push(piece.file);
        }
        shared.hosts.dedup();
        shared.files.dedup();
        shared
    }

    /// Says what stays, and how to end it.
    pub fn tell(&self, sheet: &mut Sheet, wanted: &[Host]) {
        let hosts: Vec<&str> = self.hosts.iter().filter(|host| wanted.contains(host)).map(|host| host.name()).collect();
        if !hosts.is_empty() {
            let files: Vec<String> = self.files.iter().map(|file| sheet.shown(file)).collect();
            sheet.note(format!(
                "git tracks what an earlier init wrote for {}: {} stay as they are, for everybody; --stealth keeps only what is new out of git. `twining uninstall`, committed, takes them out; then --stealth can begin",
                hosts.join(", "),
                files.join(", ")
            ));
        }
        if self.memory {
            sheet.note(format!(
                "git tracks {FOLDER}/, so what is recorded goes on being shared; `git rm -r --cached {FOLDER}`, committed, ends that, and --stealth hides it then"
            ));
        }
    }
}
