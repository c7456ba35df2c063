# A study that probode sample has drawn, opened with R's posterior as a user would.
#
#	Rscript environment/test_posterior.R FOLDER
#
# FOLDER is made by environment/test_draws.py.

suppressPackageStartupMessages(library(posterior))

folder <- commandArgs(trailingOnly = TRUE)[1]
files <- sprintf("%s/lynx/chain-%d.csv", folder, 1:4)
# As docs/from-r-or-python.md has it.
draws <- bind_draws(lapply(files, function(f) as_draws_df(read.csv(f, comment.char = "#"))), along = "chain")

ours <- read.csv(file.path(folder, "summary.csv"))
stopifnot(nchains(draws) == 4, niterations(draws) == 500, nrow(ours) == 8)
theirs <- summarise_draws(subset_draws(draws, variable = ours$parameter), "mean", "sd", "mcse_mean", "ess_bulk", "ess_tail", "rhat")
stopifnot(theirs$variable == ours$parameter)
# Numbers are exact in the files, and the formulas are the same; the two sum in
# different orders. R-hat ranks distances from the median, see test_arviz.py.
for (column in c("mean", "sd", "mcse_mean", "ess_bulk", "ess_tail", "rhat")) {
  mine <- ours[[if (column == "rhat") "r_hat" else column]]
  off <- max(abs(theirs[[column]] / mine - 1))
  limit <- if (column == "rhat") 1e-4 else 1e-9
  if (!is.finite(off) || off > limit) stop(sprintf("%s is off by %g, want at most %g", column, off, limit))
}
# Of the log densities there is one for each of 42 values.
stopifnot(sum(startsWith(variables(draws), "log_lik.")) == 42, all(is.finite(as_draws_matrix(subset_draws(draws, variable = "log_lik", regex = TRUE)))))
cat("summaries as ours\n")
