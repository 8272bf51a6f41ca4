# SPDX-License-Identifier: Apache-2.0
"""Metrics of Keras and TFMA that Stoker does not compute itself: TFMA does."""

__all__ = ["ELSEWHERE"]

ELSEWHERE = frozenset(
    """
    BinaryCrossEntropy BinaryIoU Bleu BooleanFlipRates COCOAveragePrecision COCOAverageRecall
    COCOMeanAveragePrecision COCOMeanAverageRecall CalibrationPlot CategoricalCrossEntropy
    CategoricalHinge CoefficientOfDiscrimination ConfusionMatrixAtThresholds
    ConfusionMatrixPlot CosineSimilarity DiagnosticOddsRatio ExactMatch FBetaScore
    FalseNegativeFeatureSampler FalsePositiveFeatureSampler FowlkesMallowsIndex Hinge
    Informedness IoU KLDivergence LogCoshError Markedness MatthewsCorrelationCoefficient
    MaxRecall Mean MeanAbsoluteAttributions MeanAttributions MeanIoU MeanMetricWrapper
    MeanRelativeError MeanTensor MinLabelPosition ModelCosineSimilarity
    MultiClassConfusionMatrixAtThresholds MultiClassConfusionMatrixPlot
    MultiLabelConfusionMatrixPlot NDCG NegToNegFlipRate NegToPosFlipRate
    NegativeLikelihoodRatio ObjectDetectionConfusionMatrixPlot ObjectDetectionMaxRecall
    ObjectDetectionPrecision ObjectDetectionPrecisionAtRecall ObjectDetectionRecall
    ObjectDetectionThresholdAtRecall OneHotIoU OneHotMeanIoU Poisson PosToNegFlipRate
    PosToPosFlipRate PositiveLikelihoodRatio PrecisionAtRecall PredictedPositiveRate
    PrevalenceThreshold QueryStatistics R2Score RecallAtFalsePositiveRate RecallAtPrecision
    RelativeCoefficientOfDiscrimination Rouge ScoreDistributionPlot
    SemanticSegmentationConfusionMatrix SemanticSegmentationFalsePositive
    SemanticSegmentationTruePositive SensitivityAtSpecificity SetMatchPrecision SetMatchRecall
    SparseTopKCategoricalAccuracy SpecificityAtSensitivity SquaredHinge Sum SymmetricFlipRate
    SymmetricPredictionDifference ThresholdAtRecall TopKCategoricalAccuracy
    TotalAbsoluteAttributions TotalAttributions
    """.split()
)
