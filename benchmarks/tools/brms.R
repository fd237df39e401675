# Rscript brms.R TABLE.csv OUT.json SEED INTERACTION MODEL SCALE: brms on the table of one evaluated
# model, with the priors of bayesjudge's own specifications. Judges are fixed effects with sum
# contrasts and flat priors. Stan compiles anew in every process.
arguments <- commandArgs(TRUE)
suppressMessages({
  library(brms)
  library(posterior)
})
if (dir.exists("/usr/include/boost")) rstan::rstan_options(boost_lib = "/usr/include")
scale <- as.numeric(strsplit(arguments[6], ",")[[1]])
R <- scale[2] - scale[1]
frame <- read.csv(arguments[1], stringsAsFactors = TRUE)
stopifnot(length(unique(frame$model)) == 1, arguments[4] == "0")
contrasts(frame$judge) <- contr.sum(nlevels(frame$judge))
half_normal <- function(sd, class) set_prior(paste0("normal(0, ", sd, ")"), class = class)
priors <- c(
  set_prior(paste0("normal(", mean(scale[1:2]), ", ", R / 4, ")"), class = "Intercept"),
  half_normal(R / 8, "sd"), half_normal(R / 5, "sigma")
)
fit <- brm(
  score ~ judge + (1 | scenario) + (1 | scenario:generation),
  data = frame, prior = priors, chains = 4, iter = 2000, warmup = 1000, cores = 2,
  seed = as.integer(arguments[3]), refresh = 0, silent = 2
)
draws <- as_draws_array(fit)
free <- sapply(
  grep("^b_judge", variables(draws), value = TRUE), extract_variable_matrix, x = draws,
  simplify = "array"
)
offsets <- array(c(free, -apply(free, 1:2, sum)), dim(free) + c(0, 0, 1))
sds <- list(
  scenario = extract_variable_matrix(draws, "sd_scenario__Intercept"),
  generation = extract_variable_matrix(draws, "sd_scenario:generation__Intercept"),
  judge = sqrt(apply(offsets^2, 1:2, mean)),
  residual = extract_variable_matrix(draws, "sigma")
)
summed <- lapply(sds, function(x) {
  q <- unname(quantile(x, c(.025, .5, .975)))
  lapply(
    list(ess_bulk = ess_bulk(x), rhat = rhat(x), median = q[2], q025 = q[1], q975 = q[3]), I
  )
})
ess <- sapply(summed, function(one) unclass(one$ess_bulk))
outcome <- list(
  kind = "posterior", sds = summed, ess_bulk_min = min(ess), ess_bulk_min_of = names(which.min(ess)),
  rhat_max = max(sapply(summed, function(one) unclass(one$rhat))),
  divergences = rstan::get_num_divergent(fit$fit),
  settings = list(
    sampler = paste("brms", packageVersion("brms")), R = as.character(getRversion()),
    chains = 4, draws = 1000, tune = 1000
  )
)
jsonlite::write_json(outcome, arguments[2], auto_unbox = TRUE, digits = NA)
