# SPDX-License-Identifier: Apache-2.0
"""Metrics of Keras and TFMA that Stoker does not compute itself: TFMA does."""

ELSEWHERE = frozenset(
    [
        *("BinaryCrossEntropy", "BinaryIoU", "Bleu", "BooleanFlipRates", "CalibrationPlot"),
        *("CategoricalCrossEntropy", "CategoricalHinge", "COCOAveragePrecision"),
        *("COCOAverageRecall", "COCOMeanAveragePrecision", "COCOMeanAverageRecall"),
        *("CoefficientOfDiscrimination", "ConfusionMatrixAtThresholds", "ConfusionMatrixPlot"),
        *("CosineSimilarity", "DiagnosticOddsRatio", "ExactMatch", "FairnessIndicators"),
        *("FalseNegativeFeatureSampler", "FalsePositiveFeatureSampler", "FBetaScore"),
        *("FowlkesMallowsIndex", "Hinge", "Informedness", "IoU", "KLDivergence", "LogCoshError"),
        *("Markedness", "MatthewsCorrelationCoefficient", "MaxRecall", "Mean"),
        *("MeanAbsoluteAttributions", "MeanAttributions", "MeanIoU", "MeanMetricWrapper"),
        *("MeanRelativeError", "MeanTensor", "MinLabelPosition", "ModelCosineSimilarity"),
        *("MultiClassConfusionMatrixAtThresholds", "MultiClassConfusionMatrixPlot"),
        *("MultiLabelConfusionMatrixPlot", "NDCG", "NegativeLikelihoodRatio", "NegToNegFlipRate"),
        *("NegToPosFlipRate", "ObjectDetectionConfusionMatrixPlot", "ObjectDetectionMaxRecall"),
        *("ObjectDetectionPrecision", "ObjectDetectionPrecisionAtRecall", "ObjectDetectionRecall"),
        *("ObjectDetectionThresholdAtRecall", "OneHotIoU", "OneHotMeanIoU", "Poisson"),
        *("PositiveLikelihoodRatio", "PosToNegFlipRate", "PosToPosFlipRate", "PrecisionAtRecall"),
        *("PredictedPositiveRate", "PrevalenceThreshold", "QueryStatistics", "R2Score"),
        *("RecallAtFalsePositiveRate", "RecallAtPrecision", "RelativeCoefficientOfDiscrimination"),
        *("Rouge", "ScoreDistributionPlot", "SemanticSegmentationConfusionMatrix"),
        *("SemanticSegmentationFalsePositive", "SemanticSegmentationTruePositive"),
        *("SensitivityAtSpecificity", "SetMatchPrecision", "SetMatchRecall"),
        *("SparseTopKCategoricalAccuracy", "SpecificityAtSensitivity", "SquaredHinge", "Sum"),
        *("SymmetricFlipRate", "SymmetricPredictionDifference", "ThresholdAtRecall"),
        *("TopKCategoricalAccuracy", "TotalAbsoluteAttributions", "TotalAttributions"),
    ]
)
