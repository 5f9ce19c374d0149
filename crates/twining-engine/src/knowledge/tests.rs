mod check;
mod merge;
mod picture;
mod retrieve;
mod review;
mod update;
