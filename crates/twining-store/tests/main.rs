//! Every integration test of this crate, in one program: it is linked once.

mod anchors;
mod attacks;
mod condensed;
mod drop_in;
mod faults;
mod features;
mod following;
mod git;
mod integrity;
mod linked;
mod queues;
mod quick_reads;
mod readers;
mod reading_together;
mod settings_are_documented;
mod state_machine;
mod traces;
mod turns;
mod vectors;
mod write_path;
