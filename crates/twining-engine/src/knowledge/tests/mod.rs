mod check;
mod facts;
mod merge;
mod picture;
mod retrieve;
mod review;
mod update;
