# Rscript lme4.R TABLE.csv OUT.json SEED INTERACTION: restricted maximum likelihood, a fit for each
# evaluated model. A point fit: no intervals, no draws.
arguments <- commandArgs(TRUE)
suppressMessages(library(lme4))
frame <- read.csv(arguments[1], stringsAsFactors = TRUE)
terms <- "score ~ judge + (1 | scenario) + (1 | scenario:generation)"
if (arguments[4] == "1") terms <- paste(terms, "+ (1 | scenario:judge)")
places <- c(scenario = "scenario", generation = "scenario:generation", residual = "Residual")
if (arguments[4] == "1") places <- c(places, "scenario:judge" = "scenario:judge")
found <- sapply(sort(unique(as.character(frame$model)), method = "radix"), function(label) {
  own <- droplevels(frame[frame$model == label, ])
  contrasts(own$judge) <- contr.sum(nlevels(own$judge))
  table <- as.data.frame(VarCorr(lmer(as.formula(terms), own, REML = TRUE)))
  variance <- setNames(table$vcov[match(places, table$grp)], names(places))
  if (arguments[4] == "1") {
    # From lme4's unrestricted interaction to the one relative to the panel.
    K <- nlevels(own$judge)
    free <- variance["scenario:judge"]
    variance["scenario"] <- variance["scenario"] + free / K
    variance["scenario:judge"] <- free * (K - 1) / K
  }
  sqrt(variance)
})
rows <- apply(found, 1, function(row) paste0("{\"estimate\": [", paste(row, collapse = ", "), "]}"))
sds <- paste0("\"", names(places), "\": ", rows, collapse = ", ")
settings <- paste0("{\"R\": \"", getRversion(), "\", \"lme4\": \"", packageVersion("lme4"), "\"}")
writeLines(
  paste0("{\"kind\": \"point\", \"sds\": {", sds, "}, \"settings\": ", settings, "}"), arguments[2]
)
