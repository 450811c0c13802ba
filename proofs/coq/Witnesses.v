(* Witnesses: each claim, applied to concrete values that satisfy its hypotheses. A hypothesis that
   nothing satisfies would make its claim say nothing; these show that none is of that kind. *)
From Coq Require Import ZArith List.
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Probability Ring Masking Linear Integrity Randomness Generator.
From SLIP Require Import Kernels Limbs Decomposition Attention Convolution Model Session Primes.
From SLIP Require Import Claims.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* ------------------------------------------------------------------------- concrete values *)
Lemma static_bound_const qa m n (a : int) :
  static_bound qa (const_mx a : 'M[int]_(m.+1, n)) = (qa * (n * absz a))%N.
Proof.
rewrite /static_bound /max_row_norm; congr (_ * _)%N.
have row i : row_norm (const_mx a : 'M[int]_(m.+1, n)) i = (n * absz a)%N.
  rewrite /row_norm (eq_bigr (fun _ => absz a)) => [|j _]; last by rewrite mxE.
  by rewrite sum_nat_const card_ord.
rewrite (eq_bigr (fun _ => (n * absz a)%N)) => [|i _ //].
by apply/eqP; rewrite eqn_leq; apply/andP; split; [apply/bigmax_leqP|apply: leq_bigmax ord0].
Qed.

Lemma within_const qa m n (a : int) : (absz a <= qa)%N -> within qa (const_mx a : 'M[int]_(m, n)).
Proof. by move=> a_le i j; rewrite mxE. Qed.

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

(* The modulus: never computed, only compared. *)
Definition modulus31 : nat := (2 ^ 31).-1.
Lemma modulus31_gt1 : (1 < modulus31)%N.
Proof. by rewrite /modulus31 -ltnS prednK ?expn_gt0 // -[2%N in (2 < _)%N](expn1 2) ltn_exp2l. Qed.
Lemma modulus31_le e : (31 <= e)%N -> (modulus31 <= 2 ^ e)%N.
Proof. by move=> e_ge; apply: (leq_trans (leq_pred _)); rewrite leq_exp2l. Qed.

(* ------------------------------------------------------------------------------------- ring *)
Lemma witness_embed_canonical : (embed 5 (-3) : nat)%:Z = 2.
Proof. by rewrite claim_embed_canonical. Qed.

Lemma witness_lift_range : lift (embed 5 (-2)) = -2 /\ lift (embed 5 3) <> 3 /\
  lift (embed 4 (-2)) = -2 /\ lift (embed 4 2) <> 2.
Proof. by split; [|split; [|split]]; rewrite claim_lift_range. Qed.

Definition witness_lift_section := @claim_lift_section 5 isT 4%:R.

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

(* L = 4 does not suffice for values up to 2, although it exceeds them: the paper's bound holds. *)
Lemma witness_unmask_tight : exists q : 'cV[int]_1, within 1 q /\
  forall r : 'cV['Z_4]_1, unmask (product two (mask q r)) (cancellation two r) <> two *m q.
Proof. by apply: (@claim_unmask_tight 4 isT 1 1 1 two); rewrite static_bound_const. Qed.

Definition witness_qa_max_bound := @claim_qa_max_bound 127 5 1 1 two isT.

(* ----------------------------------------------------------------------------------- linear *)
Definition witness_low_rank :=
  @claim_low_rank 3 3 1 (const_mx 2%:Z : 'M_(3, 1)) (const_mx 3%:Z : 'M_(1, 3)).

Definition witness_layer_correct (r : 'M['Z_5]_1) :=
  @claim_layer_correct 16 1 1 1 1 two one two 5 1 one r isT two_bound one_within.

Lemma witness_word_sum : charlie_sum_word 8 1 one two (one *m one) one = const_mx 4%:Z.
Proof.
have model : 2%:Z ^+ 1 *: one + one *m two = const_mx 4%:Z.
  by apply/matrixP=> i j; rewrite !mxE big_ord1 !mxE.
rewrite (@claim_word_sum 1 1 1 1 1 one one two 8 1 one) ?model ?static_bound_const //.
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

(* One group with one row. Charlie asks four times, David always answers zero. *)
Definition one_row (g : unit) : nat := 1.
Definition weights (g : unit) : 'M[F5]_(one_row g, one_row g) := const_mx 1.
Definition ask : message F5 one_row := @Message F5 [finType of unit] one_row tt 1 (const_mx 1).
Definition four_times (h : history F5 one_row one_row) : option (message F5 one_row) :=
  if (size h < 4)%N then Some ask else None.
Definition zero_reply (h : history F5 one_row one_row) (x : message F5 one_row) : reply one_row x :=
  0.

Definition witness_retry_bound :=
  @claim_retry_bound F5 2 [finType of unit] one_row one_row weights four_times zero_reply 4
    [::].

Definition witness_composite_bound :=
  @claim_composite_bound 15 isT 2 (const_mx 1) (const_neq0 _ 1 0).

(* L = 15: one rho in three accepts the error 5 in one entry. *)
Definition five_first : 'cV['Z_15]_2 := 5%:R *: delta_mx 0 0.
Lemma witness_composite_attained :
  (#|[set rho : 'cV['Z_15]_2 | rho^T *m five_first == 0%R]| * 3)%N
    = #|[finType of 'cV['Z_15]_2]|.
Proof. by have [] := @claim_composite_attained 15 isT 2 0. Qed.

Definition witness_power_of_two_half := @claim_power_of_two_half 16 isT 3 0.

(* The modulus as a field. *)
Lemma witness_prime31 : #|[finFieldType of 'F_modulus31]| = modulus31.
Proof. exact: (card_Fp claim_prime31). Qed.

Definition low_ones : 'cV['Z_(2 ^ (2 + 3))]_2 := const_mx 1.
Lemma low_error_one : [exists i, exists j, ~~ (2 ^ 2 %| (low_ones i j : nat))%N].
Proof. by apply/existsP; exists 0; apply/existsP; exists 0; rewrite mxE. Qed.
Definition witness_lifted_bound :=
  @claim_lifted_bound 2 3 2 1 1 2 (const_mx 1) (const_mx 1) low_ones isT low_error_one.

(* -------------------------------------------------------------------------------- randomness *)
Lemma witness_block_input_injective : block_input 1 5 7 <> block_input 2 5 7.
Proof.
have lt64 : (5 < 2 ^ 64)%N by apply: small_lt_pow.
have lt32 : (7 < 2 ^ 32)%N by apply: small_lt_pow.
by case/(claim_block_input_injective lt64 lt64 lt32 lt32).
Qed.

Definition witness_sampler_value := @claim_sampler_value 4 3 5 isT isT 2 isT.
Definition witness_sampler_accepted := @claim_sampler_accepted 4 3 5 isT isT.
Definition witness_sampler_pattern :=
  @claim_sampler_pattern 4 3 5 isT isT 3 [:: true; false; true] [:: 4; 0]%N erefl erefl isT.
Definition witness_sampler_prefix :=
  @claim_sampler_prefix 32 31 modulus31 isT (modulus31_le (leqnn 31)) 6 [::] isT.

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
Definition witness_limbs := @claim_limbs 31 2 3 2 2 1 isT isT (const_mx (-7)) (const_mx 29%:R).
Definition witness_limbs_four_bytes :=
  @claim_limbs_four_bytes modulus31 2 2 1 modulus31_gt1 (@modulus31_le (8 * 4) isT) (const_mx (-7))
    (const_mx 29%:R).
Definition witness_limbs_three_11_bits :=
  @claim_limbs_three_11_bits modulus31 2 2 1 modulus31_gt1 (@modulus31_le (11 * 3) isT) (const_mx
    (-7))
    (const_mx 29%:R).

Section Machine.
Local Open Scope Z_scope.

Lemma witness_int32_pass :
  fits_int32 (-128) 127 255 (Z.to_nat 65793) /\ ~ fits_int32 (-128) 127 255 (Z.to_nat 65794).
Proof. by split; [apply/claim_int32_pass|move/claim_int32_pass]; rewrite Z2Nat.id; lia. Qed.
Lemma witness_int32_number : 255 * 128 * 65793 <= 2 ^ 31 /\ ~ 255 * 128 * 65794 <= 2 ^ 31.
Proof. by split; rewrite claim_int32_number; lia. Qed.
Lemma witness_int32_pass_127 :
  fits_int32 (-127) 127 255 (Z.to_nat 66311) /\ ~ fits_int32 (-127) 127 255 (Z.to_nat 66312).
Proof. by split; [apply/claim_int32_pass_127|move/claim_int32_pass_127]; rewrite Z2Nat.id; lia. Qed.
Lemma witness_int32_pass_11_bits :
  fits_int32 (-128) 127 2047 (Z.to_nat 8196) /\ ~ fits_int32 (-128) 127 2047 (Z.to_nat 8197).
Proof. by split; [apply/claim_int32_pass_11_bits|move/claim_int32_pass_11_bits]; rewrite Z2Nat.id;
  lia. Qed.
Definition witness_recombination_fits :=
  @claim_recombination_fits (-2 ^ 31) (2 ^ 31 - 1) 0 5 ltac:(lia) ltac:(lia) ltac:(lia) ltac:(lia).

Definition witness_add_mod := @claim_add_mod 5 3 4 ltac:(lia) ltac:(lia).
Definition witness_sub_mod := @claim_sub_mod 5 3 4 ltac:(lia) ltac:(lia).

Lemma witness_reduce31 : reduce31 (2 ^ 64 - 1) = 3 /\ (2 ^ 64 - 1) mod (2 ^ 31 - 1) = 3.
Proof. by rewrite -claim_reduce31; [vm_compute|lia]. Qed.

Definition chunk : list (Z * Z) := cons (1, 2) (cons (2 ^ 31 - 2, 2 ^ 31 - 2) nil).
Lemma chunk_ok : (length chunk <= 4)%coq_nat /\
  Forall (fun p => 0 <= fst p < 2 ^ 31 - 1 /\ 0 <= snd p < 2 ^ 31 - 1) chunk.
Proof. by split; [cbn; lia|repeat constructor; cbn; lia]. Qed.
Definition witness_dot_step := @claim_dot_step (2 ^ 34 - 1) chunk ltac:(lia) chunk_ok.
Lemma witness_dot_loop : reduce31 (dot_loop (cons chunk (cons chunk nil))) = 6.
Proof.
rewrite claim_dot_loop; first by vm_compute.
by do 2 (constructor; first exact: chunk_ok).
Qed.
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
Notation one_group := [finType of unit].
Definition asks_twice : @program one_group one_row one_row unit int_eqType :=
  @Call one_group one_row one_row unit int_eqType tt 1 one (fun y =>
    @Call one_group one_row one_row unit int_eqType tt 1 one (fun z =>
      @Answer one_group one_row one_row unit int_eqType (y 0 0 + z 0 0)
        (fun _ => Stop one_row one_row unit int_eqType))
      (Stop one_row one_row unit int_eqType))
    (Stop one_row one_row unit int_eqType).
Definition twos (g : unit) : 'M[int]_(one_row g, one_row g) := two.
Definition ones (g : unit) : 'M[int]_(one_row g, one_row g) := one.
Definition parts : @factors one_group one_row one_row := Factors ones twos.
Definition qa_one (g : unit) : nat := 1.
Lemma twos_bound (g : unit) : (2 * static_bound (qa_one g) (twos g) + 1 <= 5)%N.
Proof. exact: two_bound. Qed.

(* W_int = 2 * 2 + 1 * 2 = 6. *)
Lemma asks_twice_product : unsplit_product 1 twos parts (one : 'M[int]_(one_row tt, 1)) 0 0 = 6.
Proof. by rewrite /unsplit_product /integer_model !mxE !big_ord1 !mxE !big_ord1 !mxE. Qed.
Lemma asks_twice_admissible : admissible 1 twos parts qa_one asks_twice.
Proof. by split; [exact: one_within|split; [exact: one_within|move=> i|]|]. Qed.

(* An environment that is right, and one whose replies are wrong whenever zero is. *)
Notation environment5 := (@environment one_group one_row one_row unit int_eqType 5).
Definition honest : environment5 :=
  @Environment one_group one_row one_row unit int_eqType 5
    (fun h x => Some (right twos x)) (fun h out => tt).
Definition liar : environment5 :=
  @Environment one_group one_row one_row unit int_eqType 5 (fun h x => Some 0) (fun h out => tt).
Definition either (w : bool) : environment5 := if w then honest else liar.
Lemma honest_truthful : truthful twos honest.
Proof. by move=> h x y [->]. Qed.
Lemma liar_wrong : (0 : reply one_row ask) != right twos ask.
Proof.
rewrite eq_sym; apply/eqP => /matrixP/(_ 0 0)/eqP.
by rewrite /right /right_reply !mxE big_ord1 !mxE mulr1.
Qed.

(* The claim is not empty: an output other than 12 is not faithful. *)
Lemma other_output :
  ~~ faithful 1 twos parts asks_twice
       [:: @Answered one_group one_row one_row unit int_eqType 5 7 tt].
Proof. by []. Qed.

Definition coin := @uniform [finType of bool].
Lemma coin_distribution : distribution coin.
Proof. by apply: uniform_distribution; rewrite card_bool. Qed.

Definition witness_model_correct :=
  @claim_model_correct one_group one_row one_row unit int_eqType 5 2 1 twos qa_one honest parts
    asks_twice 3 isT twos_bound asks_twice_admissible honest_truthful.
Definition witness_simulation :=
  @claim_simulation one_group one_row one_row unit int_eqType 5 2 1 twos qa_one
    [finType of bool] coin either (fun _ => parts) (fun _ => asks_twice) 3 isT coin_distribution
    twos_bound (fun _ => asks_twice_admissible) (fun z => z.1 && rejected z.2).
Definition witness_simulation_one_reject :=
  @claim_simulation_one_reject one_group one_row one_row unit int_eqType 5 2 1 twos qa_one
    [finType of bool] coin either (fun _ => parts) (fun _ => asks_twice) isT coin_distribution
    twos_bound (fun _ => asks_twice_admissible) (fun z => z.1 && rejected z.2).
Definition witness_simulation_truthful (rho : secrets F5 2 one_row) :=
  @claim_simulation_truthful one_group one_row one_row unit int_eqType 5 2 1 twos isT honest parts
    qa_one twos_bound (fun h => ~~ rejected h) asks_twice 3 [::] rho [::] honest_truthful
    asks_twice_admissible.
Definition witness_session_bound :=
  @claim_session_bound one_group one_row one_row unit int_eqType 5 2 1 twos qa_one
    [finType of bool] coin either (fun _ => parts) (fun _ => asks_twice) 3 isT coin_distribution
    twos_bound (fun _ => asks_twice_admissible).
Definition witness_inference_integrity :=
  @claim_inference_integrity one_group one_row one_row unit int_eqType 5 2 1 twos qa_one
    [finType of bool] coin either (fun _ => parts) (fun _ => asks_twice) 3 isT coin_distribution
    twos_bound (fun _ => asks_twice_admissible).
Definition witness_view_law (rho : secrets F5 2 one_row) :=
  @claim_view_law one_group one_row one_row unit int_eqType 5 2 1 twos [finType of bool] coin
    either (fun _ => parts) (fun _ => asks_twice) 3 isT true [:: rho] [:: ask; ask].

(* Two messages of one residue: each of the 25 views with the coin true has probability 1/2 1/25. *)
Lemma asks_twice_schedule : keeps_schedule [:: (tt, 1%N); (tt, 1%N)] asks_twice.
Proof. by split=> // y; split. Qed.
Lemma witness_view_uniform :
  chance_over coin (fun _ => real_run 2 1 twos honest parts 1 asks_twice)
      (fun z => z.1 && (view z.2.2 == [:: ask; ask])) = 2%:R^-1 / 25%:R.
Proof.
rewrite (@claim_view_uniform one_group one_row one_row unit int_eqType 5 2 1 twos qa_one
           [finType of bool] coin (fun _ => honest) (fun _ => parts) (fun _ => asks_twice) 1 isT
           id [:: (tt, 1%N); (tt, 1%N)] [:: ask; ask] twos_bound isT
           (fun _ => asks_twice_admissible) (fun _ _ _ => erefl) (fun _ => asks_twice_schedule)
           erefl).
rewrite Pr_uniform card_bool (eq_card (B := pred1 true)) ?card1 ?mul1r; last by case.
by rewrite !big_cons big_nil.
Qed.

(* What the oracle runs. *)
Definition witness_executable_lift := @claim_executable_lift 5 isT.

Definition witness_executable_mask := @claim_executable_mask 5 isT.

Definition witness_executable_product := @claim_executable_product 5 isT.

Definition witness_executable_unmask := @claim_executable_unmask 5 isT.

Definition witness_executable_limbs := @claim_executable_limbs 5 isT.

Definition witness_executable_companion := @claim_executable_companion 5 isT.

Definition witness_executable_accepts := @claim_executable_accepts 5 isT.

Definition witness_executable_sum := @claim_executable_sum 16 1 1 1 1.

Definition witness_executable_sampler := @claim_executable_sampler 3 isT 2 [:: 1; 3; 2]%N.
