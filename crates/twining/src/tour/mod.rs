//! `tour`: the main job, played for real on a throwaway repository.
//!
//! Two agents, each with its own server process, share one memory: they post,
//! decide, collide, ask why and assemble; a rule stops one of them, and git merges
//! what they did on two branches. Nothing is staged; every line shown is what came
//! back.

pub(crate) mod client;
mod play;

pub(crate) use play::{AfterTour, play};
