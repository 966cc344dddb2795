mod predicting;
mod sharing;
