mod check;
mod merge;
mod retrieve;
mod update;
