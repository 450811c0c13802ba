(* Witnesses: each claim, applied to concrete values that satisfy its hypotheses. A hypothesis that
   nothing satisfies would make its claim say nothing; these show that none is of that kind. *)
From Coq Require Import ZArith List.
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Probability Ring Masking Linear Planes Integrity Randomness.
From SLIP Require Import Generator Kernels Decomposition Attention Convolution Model Session Primes.
From SLIP Require Import Lattice Floats FloatProducts FloatRuns FloatBounds FloatSets Binary64 LatticeSession.
From SLIP Require Import Hiding HidingSession Claims.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* ------------------------------------------------------------------------- concrete values *)
Lemma root_square k : root (k ^ 2) = k.
Proof.
apply/eqP; rewrite eqn_leq rootP leqnn /=.
by have := rootP (k ^ 2) (root (k ^ 2)); rewrite leqnn => /esym; rewrite leq_exp2r.
Qed.

Lemma static_bound_const B_q (a : int) :
  static_bound B_q (const_mx a : 'M[int]_1) = (B_q * absz a)%N.
Proof. by rewrite /static_bound /weight_norm big_ord1 /row_squares big_ord1 mxE root_square. Qed.

Lemma word_bound_const B_q (a : int) : word_bound B_q (const_mx a : 'M[int]_1) = (B_q * absz a)%N.
Proof. by rewrite /word_bound big_ord1 /row_sum big_ord1 mxE. Qed.

Lemma within_const B_q n b (a : int) : (n * absz a ^ 2 <= B_q ^ 2)%N ->
  within B_q (const_mx a : 'M[int]_(n, b)).
Proof.
move=> a_le c; rewrite /column_squares (eq_bigr (fun _ => absz a ^ 2)%N) => [|j _].
  by rewrite sum_nat_const card_ord.
by rewrite mxE.
Qed.

Definition two : 'M[int]_1 := const_mx 2%:Z.
Definition one : 'M[int]_1 := const_mx 1.

Lemma two_bound : (2 * static_bound 1 two + 1 <= 5)%N.
Proof. by rewrite static_bound_const. Qed.
Lemma one_bound : (2 * static_bound 1 one + 1 <= 5)%N.
Proof. by rewrite static_bound_const. Qed.
Lemma one_within : within 1 one.
Proof. exact: within_const. Qed.

Lemma const_neq0 (R : ringType) m n : (const_mx 1 : 'M[R]_(m.+1, n.+1)) != 0.
Proof. by apply/eqP => /matrixP/(_ 0 0)/eqP; rewrite !mxE oner_eq0. Qed.

Lemma small_lt_pow a e : (a <= e)%N -> (a < 2 ^ e)%N.
Proof. by move=> a_le; apply: (leq_ltn_trans a_le); apply: ltn_expl. Qed.

(* ------------------------------------------------------------------------------------- ring *)
Lemma witness_embed_canonical : (embed 5 (-3) : nat)%:Z = 2.
Proof. by rewrite claim_embed_canonical. Qed.

Lemma witness_lift_range : lift (embed 5 (-2)) = -2 /\ lift (embed 5 3) <> 3 /\
  lift (embed 4 (-2)) = -2 /\ lift (embed 4 2) <> 2.
Proof. by split; [|split; [|split]]; rewrite claim_lift_range. Qed.

Definition witness_lift_section := @claim_lift_section 5 isT 4%:R.

Definition witness_paper := claim_paper.
Definition witness_first_primes := @claim_first_primes 7 isT.

Lemma paper_prime i : prime (paper i).
Proof. by case: paper_different. Qed.
Lemma paper_injective : injective paper.
Proof. by case: paper_different. Qed.
Definition paper_gt1 : (1 < modulus paper)%N := modulus_gt1 paper_different.

Definition witness_planes_bijective :=
  @claim_planes_bijective 4 paper paper_prime paper_injective paper_gt1 2 3.
Definition witness_planes_uniform :=
  @claim_planes_uniform 4 paper paper_prime paper_injective paper_gt1 2 3
    (fun z => z == planes paper (const_mx 1 : 'M['Z_(modulus paper)]_(2, 3))).
Definition witness_planes_formula :=
  @claim_planes_formula 4 paper paper_prime paper_injective paper_inverse paper_inverse_ok 300.

(* ---------------------------------------------------------------------------------- masking *)
Definition witness_mask_bijective := @claim_mask_bijective 5 2 3 (const_mx (-1)).
Definition witness_mask_uniform := @claim_mask_uniform 5 2 3 (const_mx (-1)) (const_mx 4%:R).
Definition witness_mask_joint_law :=
  @claim_mask_joint_law 5 1 1 [finType of bool] (@uniform _)
    (fun t => if t then one else two) (fun z => z.1 && (z.2 == const_mx 4%:R)).

(* A secret bit that decides the activation: bit and message together have probability 1/2 1/5. *)
Lemma witness_mask_independent :
  Pr (independent (@uniform [finType of bool]) (@uniform [finType of 'M['Z_5]_(1, 1)]))
     (fun z => z.1 && (mask (if z.1 then one else two) z.2 == const_mx 4%:R))
    = 2%:R^-1 / 5%:R.
Proof.
rewrite (@claim_mask_independent 5 1 1 [finType of bool] (@uniform _)
           (fun t => if t then one else two) id (const_mx 4%:R) isT).
by rewrite Pr_uniform card_bool (eq_card (B := pred1 true)) ?card1 ?mul1r //; case.
Qed.

Definition witness_unmask_ring := @claim_unmask_ring int_Ring 1 1 1 two one (const_mx 7%:Z).

Lemma witness_unmask_iff (r : 'M['Z_5]_1) :
  unmask (product two (mask one r)) (cancellation two r) = two *m one.
Proof. by apply/(@claim_unmask_iff 5 isT) => i j; rewrite mxE big_ord1 !mxE. Qed.

Definition witness_unmask_exact (r : 'M['Z_5]_1) :=
  @claim_unmask_exact 5 isT 1 1 1 1 two one r two_bound one_within.

Lemma witness_weight_norm : (weight_norm two <= 2)%N /\ ~ (weight_norm two <= 1)%N.
Proof.
split; first by apply/claim_weight_norm => i; rewrite big_ord1 mxE.
by move/claim_weight_norm/(_ 0); rewrite big_ord1 mxE.
Qed.
Definition witness_cauchy_schwarz :=
  @claim_cauchy_schwarz 2 (fun _ => 3%:Z) (fun j => if j == 0 then 1 else 2%:Z).
Definition witness_activation_norm_bound := @claim_activation_norm_bound 127 5 1 1 two isT.

(* ----------------------------------------------------------------------------------- linear *)
Definition witness_low_rank :=
  @claim_low_rank 3 3 1 (const_mx 2%:Z : 'M_(3, 1)) (const_mx 3%:Z : 'M_(1, 3)).

Definition witness_layer_correct (r : 'M['Z_5]_1) :=
  @claim_layer_correct 16 1 1 1 1 two one two 5 1 one r isT two_bound one_within.

Lemma witness_word_sum : charlie_sum_word 8 1 one two (one *m one) one = const_mx 4%:Z.
Proof.
have model : 2%:Z ^+ 1 *: one + one *m two = const_mx 4%:Z.
  by apply/matrixP=> i j; rewrite !mxE big_ord1 !mxE.
rewrite (@claim_word_sum 1 1 1 1 1 one one two 8 1 one) ?model ?word_bound_const //.
  by apply/matrixP=> i j; rewrite !mxE big_ord1 !mxE.
exact: one_within.
Qed.

Definition witness_group_product (x : 'M['Z_5]_(1, 1)) := @claim_group_product 5 1 1 1 1 one two x.
Definition witness_group_bound := @claim_group_bound 1 1 1 one two 1.

(* -------------------------------------------------------------------------------- integrity *)
Notation F5 := [finFieldType of 'F_5].

Definition witness_honest_accepted (rho : 'M[F5]_(2, 3)) :=
  @claim_honest_accepted _ 2 1 1 3 rho (const_mx 1) (const_mx 1).
Definition witness_freivalds_count :=
  @claim_freivalds_count F5 2 1 1 3 (const_mx 1) (const_mx 1) (const_mx 1).
Definition witness_freivalds_column :=
  @claim_freivalds_column F5 2 1 (const_mx 1) (const_mx 1) (const_mx 1) (const_neq0 F5 1 0).
Definition witness_freivalds_exact :=
  @claim_freivalds_exact F5 2 1 3 (const_mx 1) (const_mx 1) (const_mx 1) (const_neq0 F5 1 0).
Definition witness_freivalds_bound :=
  @claim_freivalds_bound F5 2 1 2 3 (const_mx 1) (const_mx 1) (const_mx 1) (const_neq0 F5 1 1).

(* One group with one row and one column, in the planes of `paper`. *)
Notation one_group := [finType of unit].
Definition one_row (g : unit) : nat := 1.
Definition twos (g : unit) : 'M[int]_(one_row g, one_row g) := two.
Lemma one_row_le (g : unit) : (one_row g <= 3)%N.
Proof. by []. Qed.
Definition ask (h : nat) (p : 'I_h -> nat) : @message h p one_group one_row :=
  @Message h p one_group one_row tt 1 (const_mx 1).
Definition wrong_by_one (h : nat) (p : 'I_h -> nat) : reply one_row (ask p) :=
  right_reply twos (ask p) + const_mx 1.
Lemma wrong_by_one_wrong h (p : 'I_h -> nat) : wrong_by_one p != right_reply twos (ask p).
Proof. by rewrite -subr_eq0 addrAC subrr add0r const_neq0. Qed.

Definition witness_check_exact :=
  @claim_check_exact 4 paper 3 8 one_group one_row one_row twos paper_prime paper_gt1 one_row_le
    (ask paper) (const_mx 1).
Definition witness_check_bound :=
  @claim_check_bound 4 paper 3 8 one_group one_row one_row twos paper_prime paper_injective
    paper_gt1 one_row_le 233%N isT paper_least (ask paper) (wrong_by_one paper)
    (wrong_by_one_wrong paper).

(* Four wrong replies, one after the other, whatever the verdicts are. *)
Definition four_wrong : strategy paper one_row one_row := fun seen =>
  if (size seen < 4)%N
  then Some (existT (fun x => reply one_row x) (ask paper) (wrong_by_one paper)) else None.
Definition witness_adaptive_bound :=
  @claim_adaptive_bound 4 paper 3 8 one_group one_row one_row twos paper_prime paper_injective
    paper_gt1 one_row_le 233%N isT paper_least four_wrong 4 9 [::].

Definition witness_composite_bound :=
  @claim_composite_bound 15 isT 2 (const_mx 1) (const_neq0 _ 1 0).

(* L = 15: one rho in three accepts the error 5 in one entry. *)
Definition five_first : 'cV['Z_15]_2 := 5%:R *: delta_mx 0 0.
Lemma witness_composite_attained :
  (#|[set rho : 'cV['Z_15]_2 | rho^T *m five_first == 0%R]| * 3)%N
    = #|[finType of 'cV['Z_15]_2]|.
Proof. by have [] := @claim_composite_attained 15 isT 2 0. Qed.

Definition witness_power_of_two_half := @claim_power_of_two_half 16 isT 3 0.

Definition low_ones : 'cV['Z_(2 ^ (2 + 3))]_2 := const_mx 1.
Lemma low_error_one : [exists i, exists j, ~~ (2 ^ 2 %| (low_ones i j : nat))%N].
Proof. by apply/existsP; exists 0; apply/existsP; exists 0; rewrite mxE. Qed.
Definition witness_lifted_bound :=
  @claim_lifted_bound 2 3 2 1 1 2 (const_mx 1) (const_mx 1) low_ones isT low_error_one.

(* -------------------------------------------------------------------------------- randomness *)
Lemma witness_block_input_injective :
  block_input (block_field 1 2) 5 7 <> block_input (block_field 2 1) 5 7.
Proof.
have lt64 : (5 < 2 ^ 64)%N by apply: small_lt_pow.
have lt32 : (7 < 2 ^ 32)%N by apply: small_lt_pow.
have lt256 n : (n <= 2)%N -> (n < 256)%N by move=> n_le; apply: leq_ltn_trans n_le _.
by case/(claim_block_input_injective (lt256 2%N isT) (lt256 1%N isT) lt64 lt64 lt32 lt32).
Qed.

Definition witness_sampler_value := @claim_sampler_value 4 3 5 isT isT 2 isT.
Definition witness_sampler_accepted := @claim_sampler_accepted 4 3 5 isT isT.
Definition witness_sampler_pattern :=
  @claim_sampler_pattern 4 3 5 isT isT 3 [:: true; false; true] [:: 4; 0]%N erefl erefl isT.
Definition witness_sampler_prefix :=
  @claim_sampler_prefix 8 8 251 isT isT 6 [:: 250; 0]%N isT.

(* Two questions to a permutation of three values: are the answers the same? Never, but uniform ones
   are one time in three, which is just the bound 2 / (2 * 3). *)
Definition same_answers : reader [finType of 'I_3] bool :=
  Ask (0 : 'I_3) (fun y => Ask (1 : 'I_3) (fun z => Done [finType of 'I_3] (y == z))).
Lemma same_answers_fresh : fresh 2 [::] same_answers.
Proof. by []. Qed.
Definition witness_switching :=
  @claim_switching [finType of 'I_3] bool id 2 same_answers same_answers_fresh.
Definition witness_finite_stream :=
  @claim_finite_stream 4 3 5 isT isT isT 6 2 (fun outputs => head 0%N outputs == 3%N).

(* ---------------------------------------------------------------------------------- kernels *)
Section Machine.
Local Open Scope Z_scope.

Lemma witness_int32_pass :
  fits_int32 (-127) 127 250 (Z.to_nat 67637) /\ ~ fits_int32 (-127) 127 250 (Z.to_nat 67638).
Proof. by split; [apply/claim_int32_pass|move/claim_int32_pass]; rewrite Z2Nat.id; lia. Qed.
Definition witness_int32_passes :=
  @claim_int32_passes (cons 127 nil) (cons (-127) nil) (cons 250 nil) (cons 1 nil) erefl.
Lemma witness_centred_byte : -125 <= centre 251 126 <= 125 /\ (centre 251 126) mod 251 = 126.
Proof. by apply: claim_centred_byte; lia. Qed.
Definition witness_int16_pair :=
  @claim_int16_pair 127 125 127 125 ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia).

Definition witness_add_mod := @claim_add_mod 5 3 4 ltac:(lia) ltac:(lia).
Definition witness_sub_mod := @claim_sub_mod 5 3 4 ltac:(lia) ltac:(lia).
End Machine.

(* ---------------------------------------------------------------------------- decomposition *)
Definition first : 'rV[rat]_2 := \row_i (i == 0)%:R.
Definition second : 'rV[rat]_2 := \row_i (i != 0)%:R.
Lemma unit_orthogonal : (1%:M : 'M[rat]_2)^T *m 1%:M = 1%:M.
Proof. by rewrite trmx1 mul1mx. Qed.
Lemma disjoint_values i : first 0 i * second 0 i = 0.
Proof. by rewrite !mxE; case: (i == 0); rewrite ?mulr0 ?mul0r. Qed.
Definition witness_svd_orthogonal :=
  @claim_svd_orthogonal _ 2 2 2 1%:M 1%:M first second unit_orthogonal unit_orthogonal
    disjoint_values.

Definition residual : 'M[rat]_2 := delta_mx 0 0.
Lemma witness_unknowns_core : exists! M, delta_mx 1 1 = U_perp residual *m M *m V_perp residual.
Proof.
apply/(@claim_unknowns_core _ 2 2 residual (delta_mx 1 1)).
by rewrite /residual trmx_delta !mul_delta_mx_0.
Qed.
Lemma residual_rank : \rank residual = 1%N.
Proof. exact: mxrank_delta. Qed.
Lemma witness_unknowns_dimension : \dim (unknowns residual) = 1%N.
Proof. by have [_ ->] := @claim_unknowns_dimension _ 2 2 residual; rewrite residual_rank. Qed.
Lemma witness_unknowns_count : \dim (unknowns residual) = 1%N.
Proof. by rewrite (@claim_unknowns_count _ 2 2 residual 1) ?residual_rank. Qed.

(* --------------------------------------------------------------------------------- attention *)
Definition witness_attention_rearrangement :=
  @claim_attention_rearrangement int_Ring 2 3 2 (const_mx 1) (const_mx 2%:Z) (const_mx 3%:Z).
Definition witness_attention_bias :=
  @claim_attention_bias int_Ring 2 3 2 1%:M (const_mx 2%:Z) (const_mx 3%:Z) (const_mx 5%:Z)
    (mul1mx _).
Definition witness_attention_protocol :=
  @claim_attention_protocol int_Ring 2 3 2 (fun Q K => Q *m K^T) (const_mx 1) (const_mx 2%:Z)
    (const_mx 3%:Z) (const_mx 4%:Z) (const_mx 5%:Z) (const_mx 6%:Z) (const_mx 7%:Z) (const_mx 8%:Z)
    (const_mx 9%:Z) (const_mx 10%:Z).
Definition witness_attention_integers (r_q r_k r_v : 'M['Z_5]_1) :=
  @claim_attention_integers 5 16 1 1 1 1 1 one two one one one two two one two (fun _ _ => one)
    one r_q r_k r_v isT one_bound two_bound one_bound one_within (fun _ _ => one_within).

(* ------------------------------------------------------------------------------- convolution *)
(* A 3 x 4 image with two channels, 2 x 3 kernels, five filters. *)
Definition witness_convolution (X : nat -> nat -> nat -> int) K :=
  @claim_convolution _ 3 4 2 2 3 5 2 2 X K isT isT isT isT.
Definition witness_convolution_index := @claim_convolution_index 4 2 2 3 1 isT isT.
Definition witness_convolution_index_lt := @claim_convolution_index_lt 3 4 2 2 3 1 isT isT isT.

(* ------------------------------------------------------------------------------------- model *)
Lemma witness_chain_correct (r : forall i : nat, 'M['Z_5]_1) :
  hybrid_activation 1 (fun _ => two) (fun _ => one) (fun _ => one) (fun _ _ => one) one r 3
    = unsplit_activation 1 (fun _ => two) (fun _ => one) (fun _ => one) (fun _ _ => one) one 3.
Proof.
apply: (@claim_chain_correct 5 1 1 (fun _ => 1%N) (fun _ => 1%N) (fun _ => 1%N)) => //.
- by move=> i _; apply: two_bound.
- exact: one_within.
- by move=> i z _; apply: one_within.
Qed.

(* ---------------------------------------------------------------------------------- sessions *)
(* Charlie asks for a product, and again for the product with 1, and gives out the sum of both. If a
   session breaks he stops. *)
Definition asks_twice : @program one_group one_row one_row unit int_eqType :=
  @Call one_group one_row one_row unit int_eqType tt 1 one (fun y =>
    @Call one_group one_row one_row unit int_eqType tt 1 one (fun z =>
      @Answer one_group one_row one_row unit int_eqType (y 0 0 + z 0 0)
        (fun _ => Stop one_row one_row unit int_eqType))
      (Stop one_row one_row unit int_eqType))
    (Stop one_row one_row unit int_eqType).
Definition ones (g : unit) : 'M[int]_(one_row g, one_row g) := one.
Definition parts : @factors one_group one_row one_row := Factors ones twos.

(* One plane, of the prime 5. *)
Definition five (i : 'I_1) : nat := 5.
Lemma five_different : different_primes five.
Proof. by split=> // i j _; rewrite !ord1. Qed.
Lemma five_modulus : modulus five = 5%N.
Proof. by rewrite /modulus big_ord1. Qed.
Lemma five_least (i : 'I_1) : (5 <= five i)%N.
Proof. by []. Qed.
Lemma one_row_one (g : unit) : (one_row g <= 1)%N.
Proof. by []. Qed.
Definition norm_one (g : unit) : nat := 1.
Lemma twos_bound (g : unit) : (2 * static_bound (norm_one g) (twos g) + 1 <= modulus five)%N.
Proof. by rewrite five_modulus; exact: two_bound. Qed.

(* W_int = 2 * 2 + 1 * 2 = 6. *)
Lemma asks_twice_product : unsplit_product 1 twos parts (one : 'M[int]_(one_row tt, 1)) 0 0 = 6.
Proof. by rewrite /unsplit_product /integer_model !mxE !big_ord1 !mxE !big_ord1 !mxE. Qed.
Lemma asks_twice_admissible : admissible 1 twos parts norm_one asks_twice.
Proof. by split; [exact: one_within|split; [exact: one_within|move=> i|]|]. Qed.

(* An environment that is right, and one whose replies are wrong: always one off. *)
Notation environment5 := (@environment one_group one_row one_row unit int_eqType 1 five).
Definition honest : environment5 :=
  @Environment one_group one_row one_row unit int_eqType 1 five
    (fun h x => Some (right twos x)) (fun h out => tt).
Definition liar : environment5 :=
  @Environment one_group one_row one_row unit int_eqType 1 five
    (fun h x => Some (right twos x + const_mx 1)) (fun h out => tt).
Definition either (w : bool) : environment5 := if w then honest else liar.
Lemma honest_truthful : truthful twos honest.
Proof. by move=> h x y [->]. Qed.
Lemma liar_wrong : david liar [::] (ask five) <> Some (right twos (ask five)).
Proof. by case=> e; have := wrong_by_one_wrong five; rewrite /wrong_by_one e eqxx. Qed.

(* The claim is not empty: an output other than 12 is not faithful. *)
Lemma other_output :
  ~~ faithful 1 twos parts asks_twice
       [:: @Answered one_group one_row one_row unit int_eqType 1 five 7 tt].
Proof. by []. Qed.

Definition coin := @uniform [finType of bool].
Lemma coin_distribution : distribution coin.
Proof. by apply: uniform_distribution; rewrite card_bool. Qed.

Definition witness_model_correct :=
  @claim_model_correct one_group one_row one_row unit int_eqType 1 five 1 2 1 twos norm_one honest
    parts asks_twice 3 five_different twos_bound asks_twice_admissible honest_truthful.
Definition witness_simulation :=
  @claim_simulation one_group one_row one_row unit int_eqType 1 five 1 2 1 twos norm_one
    [finType of bool] coin either (fun _ => parts) (fun _ => asks_twice) 3 five_different
    coin_distribution twos_bound (fun _ => asks_twice_admissible) one_row_one 5%N isT five_least
    (fun z => z.1 && rejected z.2).
Definition witness_simulation_truthful (w : secrets five 1 2) :=
  @claim_simulation_truthful one_group one_row one_row unit int_eqType 1 five 1 2 1 twos
    five_different honest parts norm_one twos_bound (fun h => ~~ rejected h) asks_twice 3 w [::]
    honest_truthful asks_twice_admissible.
Definition witness_session_bound :=
  @claim_session_bound one_group one_row one_row unit int_eqType 1 five 1 2 1 twos norm_one
    [finType of bool] coin either (fun _ => parts) (fun _ => asks_twice) 3 five_different
    coin_distribution twos_bound (fun _ => asks_twice_admissible) one_row_one 5%N isT five_least.
Definition witness_inference_integrity :=
  @claim_inference_integrity one_group one_row one_row unit int_eqType 1 five 1 2 1 twos norm_one
    [finType of bool] coin either (fun _ => parts) (fun _ => asks_twice) 3 five_different
    coin_distribution twos_bound (fun _ => asks_twice_admissible) one_row_one 5%N isT five_least.
Definition witness_view_law (w : secrets five 1 2) :=
  @claim_view_law one_group one_row one_row unit int_eqType 1 five 1 2 1 twos [finType of bool] coin
    either (fun _ => parts) (fun _ => asks_twice) 3 five_different (true, w)
    [:: ask five; ask five].

(* Two messages of one residue: each of the 25 views with the coin true has probability 1/2 1/25. *)
Lemma asks_twice_schedule : keeps_schedule [:: (tt, 1%N); (tt, 1%N)] asks_twice.
Proof. by split=> // y; split. Qed.
Lemma witness_view_uniform :
  chance_over coin (fun _ => real_run 1 2 1 twos honest parts 1 asks_twice)
      (fun z => z.1 && (view z.2 == [:: ask five; ask five])) = 2%:R^-1 / 25%:R.
Proof.
rewrite (@claim_view_uniform one_group one_row one_row unit int_eqType 1 five 1 2 1 twos norm_one
           [finType of bool] coin (fun _ => honest) (fun _ => parts) (fun _ => asks_twice) 1
           five_different id [:: (tt, 1%N); (tt, 1%N)] [:: ask five; ask five] twos_bound isT
           (fun _ => asks_twice_admissible) (fun _ _ _ => erefl) (fun _ => asks_twice_schedule)
           erefl).
rewrite Pr_uniform card_bool (eq_card (B := pred1 true)) ?card1 ?mul1r; last by case.
by rewrite five_modulus !big_cons big_nil.
Qed.

(* ---------------------------------------------------------------------------- lattice masks *)
(* X X = -1 in the ring with N = 2. *)
Lemma witness_negacyclic :
  negacyclic (\row_i (i == 1 :> 'I_2)%:R) (\row_i (i == 1)%:R) 0 0 = -1 :> int.
Proof.
rewrite (proj1 (@claim_negacyclic _ 2 _ _ isT)) big_mkcond [X in _ - X]big_mkcond !big_ord_recl.
by rewrite !big_ord0 /= !mxE !coef_rVpoly /= !insubT /= !mxE.
Qed.

Definition witness_lattice_cancellation :=
  @claim_lattice_cancellation _ 2 1 1 1 two (const_mx (const_mx 3%:Z)) (const_mx 1) 1.

(* L = 77, tau = 5, W = 2: products of at most 2, noise in them of at most 2, errors of at most 1. *)
Lemma small_condition L : (35 <= L)%N -> lattice_condition L 5 2 1 (static_bound 1 two).
Proof. by move=> L_ge; rewrite /lattice_condition static_bound_const. Qed.
Lemma at_most_const m b B (a : int) : (absz a <= B)%N -> at_most B (const_mx a : 'M[int]_(m, b)).
Proof. by move=> a_le; apply/forallP => k; apply/forallP => c; rewrite mxE. Qed.
Lemma two_noise : at_most 2 (two *m (const_mx 1 : 'M[int]_(1, 2))).
Proof. by apply/forallP => k; apply/forallP => c; rewrite mxE big_ord1 !mxE. Qed.
Definition witness_lattice_unmask_exact (T : 'M['rV['Z_77]_2]_(1, 1)) :=
  @claim_lattice_unmask_exact 77 5 isT isT 2 1 1 1 1 2 1 two T (const_mx (-1)) (const_mx 1)
    (const_mx (-1)) 1 one (small_condition (isT : (35 <= 77)%N)) one_within two_noise
    (at_most_const 1 2 (isT : (absz (-1)%R <= 1)%N)).

(* The planes of 7 and 11; two blocks of two masks. *)
Definition seven_eleven (i : 'I_2) : nat := (if i == 0%R then 7 else 11)%N.
Lemma seven_eleven_different : different_primes seven_eleven.
Proof.
split=> // [i|i j]; rewrite /seven_eleven; first by case: ifP.
by case: (eqVneq i 0) (eqVneq j 0) => [->|i_0] [->|j_0] // _; apply/val_inj; move: i j i_0 j_0;
  do 2![case=> [[|[|?]] ?]].
Qed.
Lemma seven_eleven_modulus : modulus seven_eleven = 77%N.
Proof. by rewrite /modulus !big_ord_recl big_ord0. Qed.
Lemma seven_eleven_least i : (7 <= seven_eleven i)%N.
Proof. by rewrite /seven_eleven; case: ifP. Qed.
Lemma seven_eleven_coprime : coprime 5 (modulus seven_eleven).
Proof. by rewrite seven_eleven_modulus. Qed.

(* Centred binomial secrets and noises: the difference of two bits, for each coefficient. *)
Definition bits : finType := [finType of {ffun 'I_1 * 'I_2 -> bool * bool}].
Definition centred_binomial (f : bits) : 'M[int]_(1, 2) :=
  \matrix_(a, i) ((f (a, i)).1%:Z - (f (a, i)).2%:Z).
Lemma bits_distribution : distribution (@uniform bits).
Proof. by apply: uniform_distribution; rewrite card_ffun expn_gt0 card_prod card_bool. Qed.

Notation width_one := (@group_width unit unit one_row id).
Definition two_blocks (g : unit) : nat := 2.
Notation lattice_program_toy :=
  (@lattice_program one_group one_row width_one unit int_eqType two_blocks 2).

(* A message takes mask 1 of block 0. In another session a message of two columns takes mask 0 of
   block 1, and mask 0 of block 0. *)
Definition takes (j i : 'I_2) : mask_index two_blocks 2 (tt : one_group) := (j, i).
Definition first_masks (c : 'I_1) := takes 0 1.
Definition second_masks (c : 'I_2) := if c == 0 then takes 1 0 else takes 0 0.
Definition asks_in_two_sessions : lattice_program_toy :=
  @LatticeCall one_group one_row width_one unit int_eqType two_blocks 2 tt 1 first_masks one
    (fun y => LatticeRenew
      (@LatticeCall one_group one_row width_one unit int_eqType two_blocks 2 tt 2 second_masks
         (const_mx 1)
         (fun z => @LatticeAnswer one_group one_row width_one unit int_eqType two_blocks 2
            (y 0 0 + z 0 0) (fun _ => LatticeStop one_row width_one unit int_eqType two_blocks 2))
         (LatticeStop one_row width_one unit int_eqType two_blocks 2)))
    (LatticeStop one_row width_one unit int_eqType two_blocks 2).
Lemma asks_in_two_sessions_once : takes_once set0 asks_in_two_sessions.
Proof.
split; first by move=> c c'; rewrite !ord1.
- by rewrite disjoint_sym disjoints_subset sub0set.
- move=> y; split=> //; first by do 2![case=> [[|[|?]] ?] //]; move=> _; apply: val_inj.
  rewrite disjoint_subset; apply/subsetP => x /imsetP[c _ ->].
  rewrite !inE /=; apply/imsetP => -[c' _ /eqP]; rewrite eq_Tagged /second_masks /first_masks.
  by case: (c == 0).
by [].
Qed.
Lemma asks_in_two_sessions_admissible :
  admissible 1 twos parts norm_one (forget asks_in_two_sessions).
Proof.
split; [exact: one_within| |by []]; split; [|by move=> i|by []].
by move=> c; rewrite /column_squares big_ord1 mxE.
Qed.

(* The environment knows T; it is right or wrong, as a coin and T decide. *)
Notation public_toy := (@publics [finType of unit] one_row 2 seven_eleven 2 1).
Notation environment_toy := (@environment one_group one_row width_one unit int_eqType 2 seven_eleven).
Definition honest_or_liar (o : bool * public_toy) : environment_toy :=
  @Environment one_group one_row width_one unit int_eqType 2 seven_eleven
    (fun h x => Some (right twos x + const_mx (o.1 && (o.2 tt != 0))%:R)) (fun h out => tt).
Definition always_off (o : bool * public_toy)
    (z : block_coins id two_blocks bits (fun _ : unit => bits)) (j : block two_blocks) :
    'M[int]_(one_row (tag j), 2) := const_mx 1.
Lemma toy_condition (g : one_group) : lattice_condition (modulus seven_eleven) 5 2 1
  (static_bound (norm_one g) (twos g)).
Proof. by rewrite seven_eleven_modulus; apply: small_condition. Qed.
Definition witness_lattice_simulation :=
  @claim_lattice_simulation [finType of unit] one_row one_group id one_row unit int_eqType 2
    seven_eleven 1 2 1 5 twos 2 1 two_blocks bits (fun _ => bits) centred_binomial
    (fun _ => centred_binomial) (@uniform bits) (fun _ => @uniform bits) [finType of bool] coin
    honest_or_liar (fun _ => parts) (fun _ => asks_in_two_sessions) 3 always_off norm_one
    (fun _ => 2%N) (fun _ => 1%N) 7 (fun z => z.1.1 && rejected z.2) seven_eleven_different
    coin_distribution bits_distribution (fun _ => bits_distribution) isT seven_eleven_coprime
    toy_condition (fun o z j => at_most_const _ _ (isT : (absz 1 <= 1)%N))
    (fun _ => asks_in_two_sessions_admissible) (fun _ => asks_in_two_sessions_once) one_row_one isT
    seven_eleven_least.

(* ------------------------------------------------------------------------ the hidden split *)
Definition witness_hidden := claim_hidden.

(* The first row of the table. *)
Definition row_64 := List.hd (Z0, Z0, Z0, Z0, Z0, Z0, Z0, Z0, Z0) hidden_table.
Definition width_64 := width_of row_64.
Definition witness_hidden_table : hidden_condition (modulus hidden) 4096 width_64 :=
  @claim_hidden_table row_64 (or_introl erefl).

Definition hidden_gt1 : (1 < modulus hidden)%N := modulus_gt1 hidden_different.
Lemma basis_64 : basis (modulus hidden) width_64.
Proof. by case: witness_hidden_table. Qed.
Lemma norm_64 : (0 < norm width_64)%N.
Proof. by apply/ssrnat.ltP/Nat2Z.inj_lt; rewrite Z2Nat.id. Qed.
Lemma row_square_64 : (0 < row_square width_64)%N.
Proof. by apply/ssrnat.ltP/Nat2Z.inj_lt; rewrite Z2Nat.id. Qed.
Lemma root_64 : (64 <= scaled_root width_64)%N.
Proof.
rewrite leqNgt ltnS -/(_ <= 63)%N /scaled_root rootP -!mulnn; have := row_square_64.
by move: (row_square _) => k; lia.
Qed.

(* W' = 1 and E = -1 in two rows of one column, q = 1 and e = 1. *)
Definition plus : 'M[int]_(2, 1) := const_mx 1.
Definition minus : 'M[int]_(2, 1) := const_mx (-1).
Lemma plus_in i : (row_squares plus i <= norm width_64 ^ 2)%N.
Proof. by rewrite /row_squares big_ord1 mxE expn_gt0 norm_64. Qed.
Lemma minus_in i : (row_squares minus i <= row_square width_64)%N.
Proof. by rewrite /row_squares big_ord1 mxE row_square_64. Qed.
Lemma one_in : within (norm width_64) one.
Proof. by apply: within_const; rewrite mul1n expn_gt0 norm_64. Qed.
Lemma one_tail u v : tail_within width_64 u v plus minus one.
Proof.
apply/forallP => i; apply/forallP => c; rewrite mxE big_ord1 !mxE; have := root_64; have := norm_64.
move: (norm _) (small _) (scaled_root _) => B s R B_gt0 R_ge.
have r_le : (absz u * s * 64 <= absz u * s * R)%N by rewrite leq_mul2l R_ge orbT.
have b_le : (absz v * 1 <= absz v * B)%N by rewrite leq_mul2l B_gt0 orbT.
have -> : (u * s%:Z * -1 + v * 1) * 1 = v - u * s%:Z by lia.
have : (absz (v - u * s%:Z)%R <= absz v + absz u * s)%N by rewrite -[s]/(absz s%:Z) -abszM; lia.
by move: (absz (v - _)) => f; move: r_le b_le; lia.
Qed.
Lemma errors_in a b (i : 'I_2) : (absz (a + b)%R <= 4096)%N ->
  at_most 4096 ((const_mx a : 'cV[int]_2) + col i (const_mx b : 'M[int]_(2, 2))).
Proof. by move=> ab; apply/forallP => k; apply/forallP => c; rewrite !mxE. Qed.

Definition witness_hidden_norms :=
  @claim_hidden_norms width_64 2 1 1 plus minus one plus_in minus_in one_in.

Lemma fits_64 : fits (modulus hidden) 4096 width_64 (u_1 width_64) (v_1 width_64).
Proof. by case: witness_hidden_table. Qed.
Definition witness_hidden_range i c :=
  @claim_hidden_range (modulus hidden) 4096 width_64 2 1 1 plus minus one one hidden_gt1 plus_in
    minus_in one_in (u_1 width_64) (v_1 width_64) (const_mx 5%:Z) i c fits_64 (one_tail _ _)
    (at_most_const _ _ (isT : (absz 5 <= 4096)%N)).

(* Three rows in two blocks of two. *)
Definition witness_hidden_secret :=
  @claim_hidden_secret 1 2 _ 3 1 (fun b => const_mx b%:Z) (const_mx 1) isT.

Definition witness_hidden_reply (T : 'M['rV['Z_77]_2]_(1, 1)) :=
  @claim_hidden_reply 77 5 2 1 1 2 isT isT plus minus (fun b => const_mx b%:Z) (const_mx 1) 2 1 25 T
    (const_mx (-1)) (const_mx 1) (const_mx 3%:Z) 1 one (const_mx 2%:Z) erefl.

(* Z = 3 and B = -1. *)
Lemma equations_64 : equations_fit (modulus hidden) width_64 3 (-1).
Proof.
have u_1_Z : Z_of_int (u_1 width_64) = Zneg 2596 by apply: int_of_ZK.
have v_1_Z : Z_of_int (v_1 width_64) = Zpos 1831849585 by apply: int_of_ZK.
have u_2_Z : Z_of_int (u_2 width_64) = Zpos 95683 by apply: int_of_ZK.
have v_2_Z : Z_of_int (v_2 width_64) = Zneg 65057364 by apply: int_of_ZK.
have := hidden_modulus; rewrite /equations_fit.
move: (u_1 _) (v_1 _) (u_2 _) (v_2 _) (modulus _) u_1_Z v_1_Z u_2_Z v_2_Z => u v u' v' L.
by move=> *; split; lia.
Qed.
Definition witness_hidden_decoding :=
  @claim_hidden_decoding (modulus hidden) width_64 hidden_gt1 basis_64 3 (-1) equations_64.

Definition witness_hidden_division :=
  @claim_hidden_division (modulus hidden) width_64 hidden_gt1 basis_64 (embed _ 5).

Lemma column_tail u v :
  tail_within width_64 u v plus minus (col 1 (const_mx 1 : 'M[int]_(1, 2))).
Proof.
rewrite (_ : col 1 _ = one); first exact: one_tail.
by apply/matrixP => a c; rewrite !mxE.
Qed.
Definition witness_hidden_exact (T : 'M['rV['Z_(modulus hidden)]_2]_(1, 1))
    (U : 'M['Z_(modulus hidden)]_(1 * 2, 1)) :=
  @claim_hidden_exact (modulus hidden) 4096 width_64 2 1 1 2 plus minus (fun b => const_mx b%:Z) U
    hidden_gt1 isT witness_hidden_table plus_in minus_in 2 1 T (const_mx (-1)) (const_mx 1)
    (const_mx 3%:Z) 1 one (const_mx 2%:Z) one_in (column_tail _ _) (column_tail _ _)
    (errors_in (a := 2) (b := 3) 1 isT).

Definition witness_hidden_units := @claim_hidden_units row_64 (or_introl erefl).

(* One group with W' = 1, of one block of rows and two of masks; N = 2 and d = 1. *)
Definition form_64 (k : unit) : hidden_width := width_64.
Definition model_one (g : one_group) : 'M[int]_(one_row g, width_one g) := const_mx 1.
Definition one_block (g : one_group) : nat := 1.
Notation David_toy := (weights one_row (id : one_group -> unit) one_row hidden 2 1).
Notation rows_toy := (reply_rows one_row 2 1 : one_group -> nat).
Notation hidden_program_toy :=
  (@lattice_program one_group rows_toy width_one unit int_eqType two_blocks 2).
Lemma form_64_condition (g : one_group) :
  hidden_condition (modulus hidden) (2048 + 2048) (form_64 g).
Proof. exact: witness_hidden_table. Qed.
Lemma model_one_in (g : one_group) i : (row_squares (model_one g) i <= norm (form_64 g) ^ 2)%N.
Proof. by rewrite /row_squares big_ord1 mxE expn_gt0 norm_64. Qed.
Definition asks_hidden : hidden_program_toy :=
  @LatticeCall one_group rows_toy width_one unit int_eqType two_blocks 2 tt 1 first_masks one
    (fun y => @LatticeAnswer one_group rows_toy width_one unit int_eqType two_blocks 2 (y 0 0)
       (fun _ => LatticeStop rows_toy width_one unit int_eqType two_blocks 2))
    (LatticeStop rows_toy width_one unit int_eqType two_blocks 2).
Lemma asks_hidden_once : takes_once set0 asks_hidden.
Proof.
split=> //; first by move=> c c'; rewrite !ord1.
by rewrite disjoint_sym disjoints_subset sub0set.
Qed.
Lemma asks_hidden_admissible (Wt : David_toy) :
  admissible 0 (as_integers Wt) (hidden_factors model_one Wt) (fun g => norm (form_64 g))
    (forget asks_hidden).
Proof. by split=> //; exact: one_in. Qed.
Definition hidden_environment (o : bool)
    (T : public_family (modulus hidden) 2 1 (one_row : unit -> nat)) (Wt : David_toy) :
    @environment one_group rows_toy width_one unit int_eqType 6 hidden :=
  @Environment one_group rows_toy width_one unit int_eqType 6 hidden
    (fun h x => Some (right (as_integers Wt) x + const_mx (o && (T tt != 0))%:R)) (fun h out => tt).
Lemma rows_toy_three g : (rows_toy g <= 3)%N.
Proof. by []. Qed.
Lemma width_64_unit (k : unit) : coprime (small_root (form_64 k)) (modulus hidden).
Proof. exact: witness_hidden_units. Qed.
Definition witness_hidden_simulation :=
  @claim_hidden_simulation [finType of unit] one_row one_group id one_row unit int_eqType 6 hidden 3 1
    2 1 form_64 model_one one_block two_blocks bits (fun _ => bits) centred_binomial
    (fun _ => centred_binomial) (@uniform bits) (fun _ => @uniform bits) isT (fun _ => isT)
    hidden_different (fun _ => 2048%N) (fun _ => 2048%N) form_64_condition model_one_in [finType of bool]
    coin hidden_environment (fun _ _ _ => asks_hidden) 3 (fun o T Wt h => o && rejected h)
    (fun _ _ _ _ _ j => const_mx 1) (fun _ _ _ _ _ g b y => const_mx 1) coin_distribution
    bits_distribution (fun _ => bits_distribution) width_64_unit
    (fun _ _ _ _ _ j => at_most_const _ _ (isT : (absz 1 <= 2048)%N))
    (fun _ _ _ _ _ g b y => at_most_const _ _ (isT : (absz 1 <= 2048)%N))
    (fun _ _ Wt => asks_hidden_admissible Wt) (fun _ _ _ => asks_hidden_once) rows_toy_three 227 isT
    hidden_least.

(* -------------------------------------------------------------------------- floating point *)
(* Elements whose coefficients are 1. Exact arithmetic is an evaluation, with exact roots. *)
Section Floats.
Variable C : numClosedFieldType.
Let u : C := roundoff C.
Let g : C := 128.-root 'i.
Let table (e : nat) : C := g ^+ e.
Let ones (d : nat) : 'I_d -> 'rV[int]_256 := fun _ => const_mx 1.

Lemma roundoff_ge0 : 0 <= u.
Proof. by rewrite invr_ge0 exprn_ge0 // ler0n. Qed.
Lemma g_ok : g ^+ 128 = 'i.
Proof. exact: rootCK. Qed.
Lemma table_ok e : `|table e - g ^+ e| <= (0 : C).
Proof. by rewrite subrr normr0. Qed.
Lemma roots_ok : roots_within u g table.
Proof.
split=> [|e]; first exact: g_ok.
by rewrite subrr normr0 expr0n mulr0 exprn_ge0 // roundoff_ge0.
Qed.
Lemma ones_ok d B : Z.leb 1 B -> magnitudes_at_most B (@ones d).
Proof. by move=> /Z.leb_le B_ok l i; rewrite mxE. Qed.
Lemma ones_squares d (l : 'I_d) :
  squares 128 (complex_form (in_field C (@ones d) l)) <= (16%:R * num C 1) ^+ 2.
Proof. by apply: squares_of_integers => i; rewrite mxE. Qed.
Lemma norm_ge0 : 0 <= 16%:R * num C 1.
Proof. by rewrite mulr_ge0 // ler0n. Qed.

Lemma rounded_exact v x : 0 <= v -> rounded v x (x : C).
Proof. by move=> v_ge0; rewrite /rounded subrr normr0 mulr_ge0. Qed.
Lemma four_sums_run d (v : C) : 0 <= v -> exists y : nat -> C, float_product (rounded v) table
  (point_by_four_sums (rounded v)) (in_field C (@ones d)) (in_field C (@ones d)) y.
Proof.
move=> v_ge0; have exact x := rounded_exact x v_ge0.
by apply: (float_product_total table exact) => x s; exact: four_sums_exact.
Qed.
Lemma two_sums_run d (v : C) : 0 <= v -> exists y : nat -> C, float_product (rounded v) table
  (point_by_two_sums (rounded v)) (in_field C (@ones d)) (in_field C (@ones d)) y.
Proof.
move=> v_ge0; have exact x := rounded_exact x v_ge0.
by apply: (float_product_total table exact) => x s; exact: two_sums_exact.
Qed.

(* A very coarse arithmetic, u = 1. *)
Lemma coarse_kappa : 16%:R * ((1 : C) * (1 + 1)) ^+ 2 <= 3%:R * (5%:R : C) ^+ 2.
Proof. by rewrite mul1r -[1 + 1]/(2%:R) -!natrX -!natrM ler_nat. Qed.
Lemma coarse_sums : 2%:R * ((1 + (1 : C)) ^+ 2 - 1) ^+ 2 <= (5%:R : C) ^+ 2.
Proof. by rewrite -[1 + 1]/(2%:R) -natrX -[1]/(1%:R) -natrB // -!natrX -natrM ler_nat. Qed.

Lemma witness_float_product : exists y : nat -> C,
  float_product (rounded 1) table (point_by_four_sums (rounded 1)) (in_field C (@ones 1))
    (in_field C (@ones 1)) y
  /\ forall j, (j < 128)%N ->
    `|y j - complex_form (\sum_(l < 1) negacyclic (in_field C (@ones 1) l) (in_field C (@ones 1) l)) j|
      <= (((1 + 5%:R) * (1 + 0)) ^+ 12 * (1 + 1) ^+ 21 * (1 + 5%:R) - 1)
         * \sum_(l < 1) 16%:R * num C 1 * (16%:R * num C 1).
Proof.
have [y run] := four_sums_run 1 ler01; exists y; split=> //.
exact: (@claim_float_product C g 1 5%:R 0 5%:R table g_ok ler01 (ler0n C 5) (lexx (0 : C)) (ler0n C 5)
  coarse_kappa table_ok 1 _ _ _ _ coarse_sums (fun _ => norm_ge0) (fun _ => norm_ge0)
  (@ones_squares 1) (@ones_squares 1) y run).
Qed.

Lemma witness_float_small_product : exists y : nat -> C,
  float_product (rounded 1) table (point_by_two_sums (rounded 1)) (in_field C (@ones 1))
    (in_field C (@ones 1)) y
  /\ forall j, (j < 128)%N ->
    `|y j - complex_form (\sum_(l < 1) negacyclic (in_field C (@ones 1) l) (in_field C (@ones 1) l)) j|
      <= (((1 + 5%:R) * (1 + 0)) ^+ 12 * (1 + 1) ^+ 21 * (1 + 5%:R) - 1)
         * \sum_(l < 1) 16%:R * num C 1 * (16%:R * num C 1).
Proof.
have [y run] := two_sums_run 1 ler01; exists y; split=> //.
exact: (@claim_float_small_product C g 1 5%:R 0 5%:R table g_ok ler01 (ler0n C 5) (lexx (0 : C)) (ler0n C 5)
  coarse_kappa table_ok 1 _ _ _ _ coarse_sums (fun _ => norm_ge0) (fun _ => norm_ge0)
  (@ones_squares 1) (@ones_squares 1) y run).
Qed.

Lemma witness_float_exact : exists y : nat -> C,
  float_product (rounded u) table (point_by_four_sums (rounded u)) (in_field C (@ones 16))
    (in_field C (@ones 16)) y
  /\ off_by_at_most 0 (@ones 16) (@ones 16) y.
Proof.
have [y run] := four_sums_run 16 roundoff_ge0; exists y; split=> //.
exact: (claim_float_exact roots_ok (leqnn 16) (@ones_ok 16 (2 ^ 24) isT) (@ones_ok 16 2 isT) run).
Qed.

Lemma witness_float_approximate : exists y : nat -> C,
  float_product (rounded u) table (point_by_four_sums (rounded u)) (in_field C (@ones 8))
    (in_field C (@ones 8)) y
  /\ off_by_at_most 12 (@ones 8) (@ones 8) y.
Proof.
have [y run] := four_sums_run 8 roundoff_ge0; exists y; split=> //.
exact: (claim_float_approximate roots_ok (leqnn 8) (@ones_ok 8 385700385296 isT) (@ones_ok 8 2 isT) run).
Qed.

Lemma witness_float_rounded : exists y : nat -> C,
  float_product (rounded u) table (point_by_four_sums (rounded u)) (in_field C (@ones 9))
    (in_field C (@ones 9)) y
  /\ off_by_at_most 100 (@ones 9) (@ones 9) y.
Proof.
have [y run] := four_sums_run 9 roundoff_ge0; exists y; split=> //.
exact: (claim_float_rounded roots_ok (leqnn 9) (@ones_ok 9 5472124216395 isT) (@ones_ok 9 1 isT) run).
Qed.

Lemma witness_float_small : exists y : nat -> C,
  float_product (rounded u) table (point_by_two_sums (rounded u)) (in_field C (@ones 16))
    (in_field C (@ones 16)) y
  /\ off_by_at_most 0 (@ones 16) (@ones 16) y.
Proof.
have [y run] := two_sums_run 16 roundoff_ge0; exists y; split=> //.
exact: (claim_float_small roots_ok (leqnn 16) (@ones_ok 16 (2 ^ 24) isT) (@ones_ok 16 1 isT) run).
Qed.

(* Roots that are multiples of 2^-59. *)
Let powers_of_i (e : nat) : C := 'i ^+ e.
Lemma powers_of_i_ok e : parts_multiple 59 (powers_of_i e).
Proof.
elim: e => [|e IH]; last by rewrite /powers_of_i exprS; exact: parts_i.
have one_ok : multiple 59 (1 : C) by apply: (@multiple_mono _ 0) => //; exists 1; rewrite divr1.
by split; rewrite ?(Creal_ReP _ _) ?(Creal_ImP _ _) ?rpred1 //; exact: multiple0.
Qed.

Lemma witness_float_binary64 : exists y : nat -> C,
  float_product (@binary64 C) powers_of_i (point_by_four_sums (@binary64 C)) (in_field C (@ones 16))
    (in_field C (@ones 16)) y
  /\ float_product (rounded u) powers_of_i (point_by_four_sums (rounded u)) (in_field C (@ones 16))
    (in_field C (@ones 16)) y.
Proof.
have exact x : @binary64 C x x by left.
have [y run] : exists y : nat -> C, float_product (@binary64 C) powers_of_i
    (point_by_four_sums (@binary64 C)) (in_field C (@ones 16)) (in_field C (@ones 16)) y.
  by apply: (float_product_total _ exact) => x s; exact: four_sums_exact.
by exists y; split=> //; exact: (@claim_float_binary64 C _ powers_of_i_ok _ _ _ _ run).
Qed.

Lemma witness_float_small_binary64 : exists y : nat -> C,
  float_product (@binary64 C) powers_of_i (point_by_two_sums (@binary64 C)) (in_field C (@ones 16))
    (in_field C (@ones 16)) y
  /\ float_product (rounded u) powers_of_i (point_by_two_sums (rounded u)) (in_field C (@ones 16))
    (in_field C (@ones 16)) y.
Proof.
have exact x : @binary64 C x x by left.
have [y run] : exists y : nat -> C, float_product (@binary64 C) powers_of_i
    (point_by_two_sums (@binary64 C)) (in_field C (@ones 16)) (in_field C (@ones 16)) y.
  by apply: (float_product_total _ exact) => x s; exact: two_sums_exact.
by exists y; split=> //; exact: (@claim_float_small_binary64 C _ powers_of_i_ok _ _ _ _ run).
Qed.

End Floats.

(* What the oracle runs. *)
Definition witness_executable_lift := @claim_executable_lift 5 isT.

Definition witness_executable_mask := @claim_executable_mask 5 isT.

Definition witness_executable_product := @claim_executable_product 5 isT.

Definition witness_executable_unmask := @claim_executable_unmask 5 isT.

Definition witness_executable_plane := @claim_executable_plane 4 paper paper_different.

Definition witness_executable_planes :=
  @claim_executable_planes 4 paper paper_inverse paper_different paper_inverse_ok.

Definition witness_executable_companion := @claim_executable_companion 5 isT.

Definition witness_executable_accepts := @claim_executable_accepts 5 isT.

Definition witness_executable_sum := @claim_executable_sum 16 1 1 1 1.

Definition witness_executable_sampler := @claim_executable_sampler 3 isT 2 [:: 1; 3; 2]%N.
