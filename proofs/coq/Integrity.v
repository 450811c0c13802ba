(* Integrity: Charlie checks every reply against a secret rho. Chapter: integrity.

   The check of one message is Freivalds' in kappa repetitions: rho^T y = s^T x with s^T = rho^T W_D
   computed ahead. Probabilities are over rho, uniform. *)
From mathcomp Require Import all_ssreflect all_algebra.
From SLIP Require Import Arithmetic Probability Ring.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(* s^T = rho^T W_D, one row per repetition. *)
Definition companion (R : comRingType) (m n kappa : nat) (rho : 'M[R]_(m, kappa))
    (W : 'M[R]_(m, n)) : 'M[R]_(kappa, n) := rho^T *m W.

(* One verdict per message: all repetitions, all columns. *)
Definition accepts (R : comRingType) (m n b kappa : nat) (rho : 'M[R]_(m, kappa))
    (s : 'M[R]_(kappa, n)) (x : 'M[R]_(n, b)) (y : 'M[R]_(m, b)) : bool :=
  rho^T *m y == s *m x.

Lemma accepts_error (R : comRingType) m n b kappa (rho : 'M[R]_(m, kappa)) (W : 'M[R]_(m, n))
    (x : 'M[R]_(n, b)) y :
  accepts rho (companion rho W) x y = (rho^T *m (y - W *m x) == 0).
Proof. by rewrite /accepts /companion mulmxBr mulmxA subr_eq0. Qed.

Lemma accepts_shift (R : comRingType) m n b kappa (rho : 'M[R]_(m, kappa)) (W : 'M[R]_(m, n))
    (x : 'M[R]_(n, b)) E :
  accepts rho (companion rho W) x (W *m x + E) = (rho^T *m E == 0).
Proof. by rewrite accepts_error addrAC subrr add0r. Qed.

Lemma accepts_honest (R : comRingType) m n b kappa (rho : 'M[R]_(m, kappa)) (W : 'M[R]_(m, n))
    (x : 'M[R]_(n, b)) :
  accepts rho (companion rho W) x (W *m x).
Proof. by rewrite accepts_error subrr mulmx0. Qed.

(* ------------------------------------------------------------------ a fixed error, a field *)
Section Field.
Variable F : finFieldType.

(* The kappa x M matrices whose rows lie in the row space of A. *)
Lemma card_submx p M kappa (A : 'M[F]_(p, M)) :
  #|[set U : 'M[F]_(kappa, M) | (U <= A)%MS]| = (#|F| ^ (kappa * \rank A))%N.
Proof.
rewrite -card_mx -cardsT -(card_imset _ (row_free_inj (row_base_free A))) ; last first.
apply: eq_card => U; rewrite !inE; apply/idP/imsetP.
  by rewrite -(eq_row_base A) => /submxP[X ->]; exists X.
by case=> X _ ->; rewrite (submx_trans (submxMl _ _)) // eq_row_base.
Qed.

Variables (M n b kappa : nat).
Implicit Types (W : 'M[F]_(M, n)) (x : 'M[F]_(n, b)) (E : 'M[F]_(M, b)).

(* The number of rho that accept a reply with the error E. *)
Lemma card_accept W x E :
  #|[set rho : 'M[F]_(M, kappa) | accepts rho (companion rho W) x (W *m x + E)]|
    = (#|F| ^ (kappa * (M - \rank E)))%N.
Proof.
rewrite -mxrank_ker -card_submx -(card_imset _ (@trmx_inj _ _ _)).
apply: eq_card => U; rewrite !inE; apply/imsetP/idP.
  case=> rho; rewrite inE accepts_shift => /eqP e ->.
  by rewrite sub_kermx e.
rewrite sub_kermx => /eqP e; exists U^T; rewrite ?trmxK // inE accepts_shift.
by rewrite trmxK e.
Qed.

Lemma rank_le_rows E : (\rank E <= M)%N.
Proof. exact: rank_leq_row. Qed.

Lemma Pr_accept W x E :
  Pr (@uniform [finType of 'M[F]_(M, kappa)])
     (fun rho => accepts rho (companion rho W) x (W *m x + E))
    = (#|F|%:R ^+ (kappa * \rank E))^-1.
Proof.
have F_gt0 : (0 < #|F|)%N by apply/card_gt0P; exists 0.
rewrite Pr_uniform -[in X in X / _]cardsE card_accept card_mx -natrX (mulnC M).
rewrite -[in X in _ / X](subnK (rank_le_rows E)) mulnDr expnD natrM invfM mulrA divff ?mul1r //.
by rewrite pnatr_eq0 -lt0n expn_gt0 F_gt0.
Qed.

(* A nonzero error is accepted with probability at most |F|^-kappa ... *)
Lemma Pr_accept_le W x E : E != 0 ->
  Pr (@uniform [finType of 'M[F]_(M, kappa)])
     (fun rho => accepts rho (companion rho W) x (W *m x + E))
    <= (#|F|%:R ^+ kappa)^-1.
Proof.
move=> E_neq0; have F_gt0 : (0 < #|F|)%N by apply/card_gt0P; exists 0.
rewrite Pr_accept lef_pinv ?posrE ?exprn_gt0 ?ltr0n //.
by apply: ler_weexpn2l; rewrite ?ler1n // leq_pmulr // lt0n mxrank_eq0.
Qed.

End Field.

(* A single wrong column is accepted with probability exactly |F|^-kappa. *)
Lemma rank_column (F : fieldType) M (e : 'cV[F]_M) : e != 0 -> \rank e = 1%N.
Proof.
move=> e_neq0; apply/eqP; rewrite eqn_leq rank_leq_col lt0n mxrank_eq0 e_neq0.
by [].
Qed.

Lemma Pr_accept_column (F : finFieldType) M n kappa (W : 'M[F]_(M, n)) (x : 'cV[F]_n)
    (e : 'cV[F]_M) : e != 0 ->
  Pr (@uniform [finType of 'M[F]_(M, kappa)])
     (fun rho => accepts rho (companion rho W) x (W *m x + e)) = (#|F|%:R ^+ kappa)^-1.
Proof. by move=> e_neq0; rewrite Pr_accept rank_column // muln1. Qed.

(* -------------------------------------------------------------------- a whole session *)
Section Coordinate.
Variables (G : finType) (T : G -> finType).
Notation secrets := {dffun forall g : G, T g}.

Definition update (f : secrets) g (a : T g) : secrets :=
  [ffun h => match @eqP _ g h with
             | ReflectT e => eq_rect g T a h e
             | ReflectF _ => f h
             end].

Lemma update_same f g a : @update f g a g = a.
Proof. by rewrite ffunE; case: eqP => // e; rewrite (eq_axiomK e). Qed.

Lemma update_other f g a h : g != h -> @update f g a h = f h.
Proof. by rewrite ffunE; case: eqP => // e; rewrite e eqxx. Qed.

(* One coordinate of a uniform family is uniform. *)
Lemma Pr_coordinate g (P : pred (T g)) : (0 < #|[finType of secrets]|)%N ->
  Pr (@uniform [finType of secrets]) (fun f => P (f g)) = Pr (@uniform (T g)) P.
Proof.
move=> secrets_gt0; have T_gt0 : (0 < #|T g|)%N.
  by case/card_gt0P: secrets_gt0 => f _; apply/card_gt0P; exists (f g).
pose phi (z : secrets * T g) := (z.1 g, update z.1 z.2).
have phi_inj : injective phi.
  case=> f a [f' a'] /= [e_g e]; have ea : a = a' by rewrite -(update_same f a) e update_same.
  congr (_, _) => //; apply/ffunP=> h; case: (eqVneq g h) => [<- //|g_h].
  by rewrite -(update_other f a g_h) e update_other.
have [psi phiK psiK] : bijective phi.
  by apply: inj_card_bij => //; rewrite !card_prod mulnC.
have: #|[set z : secrets * T g | P (z.1 g)]| = #|[set z : T g * secrets | P z.1]|.
  rewrite -(card_imset _ phi_inj); apply: eq_card => w; rewrite !inE.
  apply/imsetP/idP => [[z]|Pw]; first by rewrite inE => Pz ->.
  by exists (psi w); rewrite ?psiK // inE -[P _]/(P (phi (psi w)).1) psiK.
have -> : [set z : secrets * T g | P (z.1 g)] = setX [set f : secrets | P (f g)] setT.
  by apply/setP=> z; rewrite !inE andbT.
have -> : [set z : T g * secrets | P z.1] = setX [set a | P a] setT.
  by apply/setP=> z; rewrite !inE andbT.
rewrite !cardsX !cardsT !cardsE => e.
rewrite !Pr_uniform; apply/eqP; rewrite eqr_div ?pnatr_eq0 -?lt0n //.
by rewrite -!natrM e.
Qed.
End Coordinate.

Lemma Pr_or_le (T : finType) (mu : T -> rat) (E E' : pred T) :
  (forall x, 0 <= mu x) -> Pr mu (fun x => E x || E' x) <= Pr mu E + Pr mu E'.
Proof.
move=> mu_ge0; rewrite /Pr (bigID E) /=; apply: ler_add.
  by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigl => x; case: (E x); rewrite ?andbF.
rewrite [X in _ <= X](bigID E) /= ler_paddl ?sumr_ge0 //.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; apply: eq_bigl => x; case: (E x); rewrite ?andbF.
Qed.

Section Session.
Variables (F : finFieldType) (kappa : nat) (G : finType) (M N : G -> nat).
Variable W : forall g, 'M[F]_(M g, N g).

(* A message asks for the product of one group with some columns; a reply has the group's rows. *)
Record message := Message { group : G; columns : nat; sent : 'M[F]_(N group, columns) }.
Definition reply (x : message) := 'M[F]_(M (group x), columns x).
Definition right_reply (x : message) : reply x := W (group x) *m sent x.

(* The secrets of the check: one rho per group and session, all independent. *)
Definition secrets : finType :=
  [finType of {dffun forall g : G, [finType of 'M[F]_(M g, kappa)]}].

Definition verdict (rho : secrets) (x : message) (y : reply x) : bool :=
  accepts (rho (group x)) (companion (rho (group x)) (W (group x))) (sent x) y.

Lemma card_secrets_gt0 : (0 < #|secrets|)%N.
Proof. by apply/card_gt0P; exists ([ffun g => 0] : {dffun forall g : G, 'M[F]_(M g, kappa)}). Qed.

Lemma verdict_right rho x : verdict rho (right_reply x).
Proof. exact: accepts_honest. Qed.

Lemma verdict_wrong x (y : reply x) : y != right_reply x ->
  Pr (@uniform secrets) (fun rho => verdict rho y) <= (#|F|%:R ^+ kappa)^-1.
Proof.
move=> wrong; rewrite /verdict.
pose P (a : 'M_(M (group x), kappa)) := accepts a (companion a (W (group x))) (sent x) y.
rewrite (@Pr_coordinate _ (fun g => [finType of 'M[F]_(M g, kappa)]) (group x) P).
  rewrite /P -[y](subrK (right_reply x)) addrC; apply: Pr_accept_le.
  by rewrite subr_eq0.
exact: card_secrets_gt0.
Qed.

(* What David has seen: the messages so far, each with his own reply to it. *)
Definition history := seq {x : message & reply x}.

Variables (charlie : history -> option message) (david : history -> forall x, reply x).

(* A Charlie who goes on after a reject, with the same secrets: some wrong reply among T is
   accepted. Up to the first acceptance of a wrong reply, the verdicts follow from the history. *)
Fixpoint fooled_retry (T : nat) (h : history) (rho : secrets) : bool :=
  if T isn't T'.+1 then false else
  if charlie h isn't Some x then false else
  let y := david h x in
  ((y != right_reply x) && verdict rho y) || fooled_retry T' (rcons h (existT _ x y)) rho.

Lemma fooled_retry_bound T h :
  Pr (@uniform secrets) (fooled_retry T h) <= T%:R * (#|F|%:R ^+ kappa)^-1.
Proof.
have bound_ge0 : 0 <= (#|F|%:R ^+ kappa)^-1 :> rat by rewrite invr_ge0 exprn_ge0 ?ler0n.
elim: T h => [|T IH] h /=; first by rewrite mul0r /Pr big_pred0_eq.
case: (charlie h) => [x|]; last by rewrite /Pr big_pred0_eq mulr_ge0 ?ler0n.
rewrite mulrS mulrDl mul1r.
pose first_wrong := fun rho : secrets => (david h x != right_reply x) && verdict rho (david h x).
have first_le : Pr (@uniform secrets) first_wrong <= (#|F|%:R ^+ kappa)^-1.
  rewrite /first_wrong; case: (eqVneq (david h x) (right_reply x)) => [_|wrong] /=.
    by rewrite /Pr big_pred0_eq.
  exact: verdict_wrong.
apply: le_trans (ler_add first_le (IH (rcons h (existT _ x (david h x))))).
exact: Pr_or_le (@uniform_ge0 _).
Qed.

End Session.

(* ------------------------------------------------------------------------ composite moduli *)
Section Composite.
Variable L : nat.
Hypothesis L_gt1 : (1 < L)%N.
Notation p := (pdiv L).

Lemma natr_eq0 a : ((a%:R : 'Z_L) == 0) = (L %| a)%N.
Proof. by rewrite -val_eqE /= val_Zp_nat. Qed.

Lemma coprime_below d : (0 < d < p)%N -> coprime d L.
Proof.
case/andP=> d_gt0 lt_dp; apply: contraLR lt_dp; rewrite -leqNgt /coprime => g_neq1.
apply: leq_trans (dvdn_leq d_gt0 (dvdn_gcdl d L)).
by apply: pdiv_min_dvd (dvdn_gcdr d L); rewrite ltn_neqAle eq_sym g_neq1 gcdn_gt0 d_gt0.
Qed.

Lemma small_multiple (j k : nat) (x : 'Z_L) :
  (j < p)%N -> (k < p)%N -> x != 0 -> j%:R * x = k%:R * x -> j = k.
Proof.
wlog le_kj : j k / (k <= j)%N => [wlog|] j_lt k_lt x_neq0 e.
  by case: (leqP k j) => [/wlog->//|/ltnW /wlog H]; apply/esym/H.
apply/eqP; rewrite eqn_leq le_kj andbT leqNgt; apply/negP => lt_kj.
have : (j - k)%:R * x == 0 by rewrite natrB // mulrBl e subrr.
rewrite -[x]natr_Zp -natrM natr_eq0 Gauss_dvdr; last first.
  by rewrite coprime_sym coprime_below // subn_gt0 lt_kj (leq_ltn_trans (leq_subr _ _)).
by rewrite -natr_eq0 natr_Zp (negPf x_neq0).
Qed.

Variable M : nat.
Implicit Types (e : 'cV['Z_L]_M) (rho : 'cV['Z_L]_M).

Definition killing e := [set rho : 'cV['Z_L]_M | rho^T *m e == 0].

Lemma dot_shift e rho i (a : 'Z_L) :
  (rho + a *: delta_mx i 0)^T *m e = rho^T *m e + (a * e i 0)%:M.
Proof.
rewrite linearD /= mulmxDl; congr (_ + _); rewrite linearZ /= trmx_delta -scalemxAl -rowE.
by apply/matrixP=> j k; rewrite !ord1 !mxE.
Qed.

(* Whatever the error, at most one rho in p is a solution, p the smallest prime factor of L. *)
Lemma composite_bound e : e != 0 ->
  (#|killing e| * p <= #|[finType of 'cV['Z_L]_M]|)%N.
Proof.
move=> e_neq0; have [i ei_neq0] : exists i, e i 0 != 0.
  apply/existsP; apply: contraR e_neq0; rewrite negb_exists => /forallP e0.
  by apply/eqP/matrixP=> i j; rewrite ord1 mxE; apply/eqP; have := e0 i; rewrite negbK.
pose phi (z : 'cV['Z_L]_M * 'I_p) := z.1 + (z.2 : nat)%:R *: delta_mx i 0 : 'cV['Z_L]_M.
rewrite -[p in (_ * p)%N]card_ord -[#|'I_p|]cardsT -cardsX -(card_in_imset (f := phi)).
  exact: max_card.
case=> rho j [rho' j']; rewrite !inE !andbT /= => /eqP rho0 /eqP rho'0 eq_phi.
have : (phi (rho, j))^T *m e = (phi (rho', j'))^T *m e by rewrite eq_phi.
rewrite !dot_shift rho0 rho'0 !add0r => /matrixP/(_ 0 0); rewrite !mxE !eqxx !mulr1n => ej.
have ejj : j = j' by apply: val_inj; apply: small_multiple ej.
by move: eq_phi; rewrite /phi ejj /= => /addIr ->.
Qed.

(* And the chosen error L/p in one entry attains it. *)
Lemma composite_attained (i : 'I_M) :
  let e := (L %/ p)%:R *: delta_mx i 0 : 'cV['Z_L]_M in
  e != 0 /\ (#|killing e| * p)%N = #|[finType of 'cV['Z_L]_M]|.
Proof.
move=> e; have p_dvd : (p %| L)%N by apply: pdiv_dvd.
have p_gt0 : (0 < p)%N by apply: pdiv_gt0.
have p_gt1 : (1 < p)%N by apply: prime_gt1; apply: pdiv_prime.
have e_i : e i 0 = (L %/ p)%:R by rewrite !mxE ?eqxx mulr1.
have dot_e rho : rho^T *m e = (rho i 0 * (L %/ p)%:R)%:M.
  rewrite -[rho in LHS](subrK (rho i 0 *: delta_mx i 0)) dot_shift e_i.
  rewrite [X in X + _](_ : _ = 0) ?add0r //; apply/matrixP=> j k; rewrite !mxE.
  apply: big1 => l _; rewrite !mxE !ord1 ?eqxx ?andbT; case: eqP => [->|_]; last by rewrite !mulr0.
  by rewrite mulr1 subrr mul0r.
have e_neq0 : e != 0.
  have Lp_gt0 : (0 < L %/ p)%N by rewrite divn_gt0 // dvdn_leq // ltnW.
  apply/eqP => e0; have /eqP := e_i; rewrite e0 mxE eq_sym natr_eq0 => /(dvdn_leq Lp_gt0).
  by rewrite leqNgt ltn_Pdiv // ltnW.
split=> //; apply/eqP; rewrite eqn_leq composite_bound //=.
pose entry (rho : 'cV['Z_L]_M) : nat := rho i 0.
have rem_lt rho : (entry rho %% p < p)%N by rewrite ltn_mod.
pose psi (rho : 'cV['Z_L]_M) :=
  (rho - (entry rho %% p)%N%:R *: delta_mx i 0 : 'cV['Z_L]_M, Ordinal (rem_lt rho)).
have psi_inj : injective psi.
  by move=> rho rho' [e1 e2]; move: e1; rewrite e2 => /addIr.
rewrite -[p in (_ * p)%N]card_ord -[#|'I_p|]cardsT -cardsX -(card_imset _ psi_inj).
apply/subset_leq_card/subsetP => _ /imsetP[rho _ ->]; rewrite !inE andbT /= dot_e.
apply/eqP/matrixP=> j k; rewrite !ord1 !mxE !eqxx mulr1n mulr1.
rewrite -[X in X - _](natr_Zp) -natrB ?leq_mod // -natrM; apply/eqP; rewrite natr_eq0.
rewrite -[X in (X %| _)%N](divnK p_dvd) mulnC dvdn_mul //.
by rewrite -/(entry rho) {1}(divn_eq (entry rho) p) addnK dvdn_mull.
Qed.

End Composite.

Lemma power_of_two_half e : (0 < e)%N -> forall (M : nat) (i : 'I_M),
  let error : 'cV['Z_(2 ^ e)]_M := (2 ^ e.-1)%:R *: delta_mx i 0 in
  error != 0 /\
  Pr (@uniform [finType of 'cV['Z_(2 ^ e)]_M]) (fun rho => rho^T *m error == 0) = 2%:R^-1.
Proof.
case: e => // e _ M i; have pow_gt1 : (1 < 2 ^ e.+1)%N by rewrite -[1%N](expn0 2) ltn_exp2l.
have := composite_attained pow_gt1 i.
rewrite pdiv_pfactor // [in (_ %/ 2)%N]expnS mulKn // [e.+1.-1]/=.
case=> error_neq0 attained; split=> //; rewrite Pr_uniform -attained natrM invfM mulrA.
have card_gt0 : (0 < #|[finType of 'cV['Z_(2 ^ e.+1)]_M]|)%N by apply/card_gt0P; exists 0.
rewrite -[in X in X / _]cardsE -/(killing _) divff ?mul1r // pnatr_eq0 -lt0n.
by move: card_gt0; rewrite -attained muln_gt0 => /andP[].
Qed.

(* ------------------------------------------------------------------------- the lifted check *)
Section Lifted.
Variables (e s M N b kappa : nat).
Notation R := 'Z_(2 ^ (e + s)).

(* rho has entries in [0, 2^s), products and masks are taken mod 2^(e+s). *)
Definition lifted_rho (rho : 'M['I_(2 ^ s)]_(M, kappa)) : 'M[R]_(M, kappa) :=
  map_mx (fun a : 'I_(2 ^ s) => (a : nat)%:R) rho.

Definition lifted_accepts (rho : 'M['I_(2 ^ s)]_(M, kappa)) (W : 'M[R]_(M, N)) (x : 'M[R]_(N, b))
    (y : 'M[R]_(M, b)) : bool :=
  accepts (lifted_rho rho) (companion (lifted_rho rho) W) x y.

(* The error is visible in the low e bits of some entry. *)
Definition low_error (d : 'M[R]_(M, b)) : bool :=
  [exists i, exists j, ~~ (2 ^ e %| (d i j : nat))%N].

Lemma lifted_gt1 : (0 < e)%N -> (1 < 2 ^ (e + s))%N.
Proof. by move=> e_gt0; rewrite -[1%N](expn0 2) ltn_exp2l // addn_gt0 e_gt0. Qed.

Lemma lifted_cancel (a c : nat) (x : R) : (0 < e)%N ->
  (a < 2 ^ s)%N -> (c < 2 ^ s)%N -> ~~ (2 ^ e %| (x : nat))%N -> a%:R * x = c%:R * x -> a = c.
Proof.
move=> e_gt0; wlog le_ca : a c / (c <= a)%N => [wlog|] a_lt c_lt x_low eq_ax.
  by case: (leqP c a) => [/wlog->//|/ltnW /wlog H]; apply/esym/H.
apply/eqP; rewrite eqn_leq le_ca andbT leqNgt; apply/negP => lt_ca.
have d_gt0 : (0 < a - c)%N by rewrite subn_gt0.
have x_gt0 : (0 < x)%N by rewrite lt0n; apply: contraNneq x_low => ->; rewrite dvdn0.
have : (a - c)%:R * x == 0 by rewrite natrB // mulrBl eq_ax subrr.
rewrite -[x]natr_Zp -natrM natr_eq0 ?lifted_gt1 // pfactor_dvdn ?muln_gt0 ?d_gt0 //.
rewrite lognM // leqNgt => /negP; apply.
have log_d : (logn 2 (a - c) < s)%N.
  rewrite ltnNge -pfactor_dvdn //; apply/negP => /dvdn_leq -/(_ d_gt0).
  by rewrite leqNgt (leq_ltn_trans (leq_subr _ _)).
have log_x : (logn 2 x < e)%N by rewrite ltnNge -pfactor_dvdn.
by lia.
Qed.

(* At most one key in 2^(s kappa) accepts. *)
Lemma lifted_bound (W : 'M[R]_(M, N)) (x : 'M[R]_(N, b)) (d : 'M[R]_(M, b)) :
  (0 < e)%N -> low_error d ->
  (#|[set rho | lifted_accepts rho W x (W *m x + d)]| * (2 ^ s) ^ kappa
     <= #|[finType of 'M['I_(2 ^ s)]_(M, kappa)]|)%N.
Proof.
move=> e_gt0 /existsP[i /existsP[j d_low]].
have -> : ((2 ^ s) ^ kappa)%N = #|[set: 'rV['I_(2 ^ s)]_kappa]|.
  by rewrite cardsT card_mx mul1n card_ord.
rewrite -cardsX.
pose phi (z : 'M['I_(2 ^ s)]_(M, kappa) * 'rV['I_(2 ^ s)]_kappa) :=
  \matrix_(l, c) (if l == i then z.2 0 c else z.1 l c).
rewrite -(card_in_imset (f := phi)); first exact: max_card.
case=> rho a [rho' a']; rewrite !inE !andbT /lifted_accepts !accepts_shift /=.
move=> /eqP/matrixP rho0 /eqP/matrixP rho'0 /matrixP eq_phi.
have off l c : l != i -> rho l c = rho' l c.
  by move=> l_i; have := eq_phi l c; rewrite !mxE (negPf l_i).
have ea : a = a'.
  by apply/matrixP=> z c; rewrite ord1; have := eq_phi i c; rewrite !mxE eqxx.
rewrite ea; congr (_, _); apply/matrixP=> l c; case: (eqVneq l i) => [->|]; last exact: off.
apply: val_inj; apply: (lifted_cancel e_gt0 (ltn_ord _) (ltn_ord _) d_low).
have := rho'0 c j; have := rho0 c j; rewrite !mxE (bigD1 i) //= [in X in _ -> X](bigD1 i) //=.
rewrite !mxE (eq_bigr (fun l => (lifted_rho rho')^T c l * d l j)); last first.
  by move=> k k_i; rewrite !mxE (off k c k_i).
by move=> h1 h2; apply: addIr (etrans h1 (esym h2)).
Qed.

Lemma Pr_lifted_le (W : 'M[R]_(M, N)) (x : 'M[R]_(N, b)) (d : 'M[R]_(M, b)) :
  (0 < e)%N -> low_error d ->
  Pr (@uniform [finType of 'M['I_(2 ^ s)]_(M, kappa)])
     (fun rho => lifted_accepts rho W x (W *m x + d)) <= ((2 ^ s)%:R ^+ kappa)^-1.
Proof.
move=> e_gt0 d_low; have bound := lifted_bound W x e_gt0 d_low.
have pow_gt0 : (0 < 2 ^ s)%N by rewrite expn_gt0.
rewrite Pr_uniform -[in X in X / _]cardsE -natrX card_mx card_ord.
rewrite ler_pdivr_mulr ?ltr0n ?expn_gt0 ?pow_gt0 // mulrC ler_pdivl_mulr ?ltr0n ?expn_gt0 ?pow_gt0
  //.
by rewrite -natrM ler_nat; move: bound; rewrite card_mx card_ord.
Qed.

End Lifted.
