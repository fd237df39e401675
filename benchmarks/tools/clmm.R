# Rscript clmm.R TABLE.csv OUT.json SEED INTERACTION MODEL SCALE: the cumulative-logit model by
# ordinal::clmm (Laplace approximation), a fit for each evaluated model, each with thresholds of its
# own. A point fit: no intervals for standard deviations, no draws.
arguments <- commandArgs(TRUE)
suppressMessages(library(ordinal))
frame <- read.csv(arguments[1])
frame[c("scenario", "generation", "judge")] <-
  lapply(frame[c("scenario", "generation", "judge")], factor)
places <- c("scenario", "generation", "judge")
found <- sapply(sort(unique(as.character(frame$model)), method = "radix"), function(label) {
  own <- droplevels(frame[frame$model == label, ])
  own$score <- factor(own$score, ordered = TRUE)
  own$answer <- interaction(own$scenario, own$generation, drop = TRUE)
  contrasts(own$judge) <- contr.sum(nlevels(own$judge))
  fit <- clmm(score ~ judge + (1 | scenario) + (1 | answer), data = own)
  sds <- sapply(VarCorr(fit)[c("scenario", "answer")], function(x) attr(x, "stddev")[[1]])
  offsets <- c(fit$beta, -sum(fit$beta))
  c(sds, sqrt(mean(offsets^2)))
})
rows <- apply(found, 1, function(row) paste0("{\"estimate\": [", paste(row, collapse = ", "), "]}"))
sds <- paste0("\"", places, "\": ", rows, collapse = ", ")
settings <- paste0(
  "{\"R\": \"", getRversion(), "\", \"ordinal\": \"", packageVersion("ordinal"), "\"}"
)
writeLines(
  paste0("{\"kind\": \"point\", \"sds\": {", sds, "}, \"settings\": ", settings, "}"), arguments[2]
)
